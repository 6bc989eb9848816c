import { readFile } from "node:fs/promises";
import { endpointOf, required, takeCredentialsFrom } from "./environment.ts";
import { answerAt } from "./get-text.ts";
import { type EndingCredentials, KeptCredentials } from "./kept-credentials.ts";

/**
 * Where a role and a token are set, as EKS does for a service account, makes the clients of this process use that role.
 * Elsewhere it does nothing.
 */
export function useWebIdentity(env: NodeJS.ProcessEnv = process.env): void {
  const kept = webIdentityCredentials(env);
  if (kept !== undefined) takeCredentialsFrom(() => kept.get());
}

/**
 * Credentials of `AWS_ROLE_ARN`, for the token in `AWS_WEB_IDENTITY_TOKEN_FILE`, from STS. Undefined: they are not set.
 */
export function webIdentityCredentials(
  env: NodeJS.ProcessEnv,
  now: () => number = Date.now,
): KeptCredentials | undefined {
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_SESSION_NAME: session } = env;
  if (!role || !file) return undefined;
  return new KeptCredentials(async () => {
    const { protocol, host } = endpointOf("sts", env, required(env, "AWS_REGION"));
    const url = new URL(`${protocol}//${host}/`);
    const asked = { Action: "AssumeRoleWithWebIdentity", Version: "2011-06-15", RoleArn: role };
    for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
    url.searchParams.set("RoleSessionName", session || "offload");
    // The file is replaced from time to time.
    url.searchParams.set("WebIdentityToken", (await readFile(file, "utf8")).trim());
    return credentialsIn(await answerAt(url, {}));
  }, now);
}

/** Reads STS's answer, which is XML. The values have no characters that XML escapes. */
function credentialsIn(xml: string): EndingCredentials {
  const of = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  const [accessKeyId, secretAccessKey, sessionToken] = [of("AccessKeyId"), of("SecretAccessKey"), of("SessionToken")];
  if (!accessKeyId || !secretAccessKey || !sessionToken) throw new Error("STS returned no credentials");
  return {
    credentials: { accessKeyId, secretAccessKey, sessionToken },
    expiresAtMs: Date.parse(of("Expiration") ?? "") || 0,
  };
}
