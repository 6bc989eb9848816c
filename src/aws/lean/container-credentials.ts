import { readFile } from "node:fs/promises";
import { takeCredentialsFrom } from "./environment.ts";
import { answerAt } from "./get-text.ts";
import { type EndingCredentials, KeptCredentials } from "./kept-credentials.ts";

/**
 * Address in each container of ECS that returns credentials. `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` is a path there.
 */
const ecsHost = "http://169.254.170.2";

/** Hosts that may get the token without TLS: ECS, EKS Pod Identity, and this machine. */
const plainHosts = new Set([
  ...["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"],
  ...["localhost", "127.0.0.1", "[::1]"],
]);

/**
 * In a container of ECS or a pod of EKS, makes the clients of this process use the credentials of its role. Elsewhere
 * it does nothing.
 */
export function useContainerCredentials(env: NodeJS.ProcessEnv = process.env): void {
  const kept = containerCredentials(env);
  if (kept !== undefined) takeCredentialsFrom(() => kept.get());
}

/**
 * Credentials of the role of a container or a pod, from the address that its variables name. Undefined: they name none.
 * @throws Error when the address would get the token without TLS
 */
export function containerCredentials(
  env: NodeJS.ProcessEnv,
  now: () => number = Date.now,
): KeptCredentials | undefined {
  const { AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: path, AWS_CONTAINER_CREDENTIALS_FULL_URI: full } = env;
  if (!path && !full) return undefined;
  const url = path ? new URL(path, ecsHost) : new URL(full ?? "");
  if (url.protocol !== "https:" && !plainHosts.has(url.hostname)) {
    throw new Error(`AWS_CONTAINER_CREDENTIALS_FULL_URI must be https or an address of ECS or EKS; got ${url.origin}`);
  }
  return new KeptCredentials(async () => credentialsIn(await answerAt(url, await tokenHeader(env))), now);
}

/** EKS replaces the token's file from time to time. */
async function tokenHeader(env: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN: given } = env;
  const token = file ? (await readFile(file, "utf8")).trim() : given;
  return token ? { authorization: token } : {};
}

function credentialsIn(text: string): EndingCredentials {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = JSON.parse(text) as Record<string, string>;
  if (!AccessKeyId || !SecretAccessKey)
    throw new Error("the container's address returned no credentials: no role is set");
  return {
    credentials: {
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      ...(Token && { sessionToken: Token }),
    },
    expiresAtMs: Date.parse(Expiration ?? "") || 0,
  };
}
