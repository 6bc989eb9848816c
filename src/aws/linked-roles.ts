import { BoundedHttpHandler } from "./http-handler.ts";
import { AwsError } from "./lean/aws-error.ts";
import { type Credentials, type Endpoint, endpointOf } from "./lean/environment.ts";
import { Signer } from "./lean/sign.ts";
import { Tries } from "./lean/tries.ts";

/** True when the account has a role of this name. @throws Error, for example without permission */
export type HasRole = (name: string) => Promise<boolean>;

/** Credentials and Region, as an SDK client finds them. */
interface Resolved {
  credentials: () => Promise<Credentials>;
  region(): Promise<string>;
}

/**
 * Looks for roles in IAM. IAM answers with XML, which our other clients do not read; here the status says enough.
 * @param resolved an SDK client's configuration: it knows profiles and single sign-on
 */
export function roleReader({ credentials, region }: Resolved, env: NodeJS.ProcessEnv = process.env): HasRole {
  const tries = new Tries();
  const handler = new BoundedHttpHandler();
  return async (name) => {
    const home = homeOf(await region());
    const { protocol, hostname, port, host } = endpointOfIam(env, home);
    const signer = new Signer("iam", home);
    const query = { Action: "GetRole", RoleName: name, Version: "2010-05-08" };
    return tries.run(async () => {
      const request = { method: "GET", path: "/", query, headers: { host } };
      signer.sign(request, await credentials(), tries.now());
      const { response } = await handler.handle({ ...request, protocol, hostname, port });
      if (response.statusCode < 300) return true;
      const error = refusalOf((response.body as Buffer).toString("utf8"), response);
      if (error.name === "NoSuchEntity") return false;
      throw error;
    });
  };
}

function refusalOf(text: string, answer: ConstructorParameters<typeof AwsError>[2]): AwsError {
  const inside = (tag: string) => new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(text)?.[1];
  const code = inside("Code") ?? "UnknownError";
  return new AwsError(code, inside("Message") ?? `IAM answered ${answer.statusCode}: ${code}`, answer);
}

/** The Region whose name signatures for IAM have, by the start of a Region's name. IAM has one in each partition. */
const homes: readonly (readonly [start: string, home: string])[] = [
  ["cn-", "cn-north-1"],
  ["us-gov-", "us-gov-west-1"],
  ["eusc-", "eusc-de-east-1"],
  ["us-iso-", "us-iso-east-1"],
  ["us-isob-", "us-isob-east-1"],
  ["us-isof-", "us-isof-south-1"],
  ["eu-isoe-", "eu-isoe-west-1"],
];

const homeOf = (region: string): string => homes.find(([start]) => region.startsWith(start))?.[1] ?? "us-east-1";

/** Names of IAM's endpoint that differ from those of other services. */
const ownNames: Readonly<Record<string, string>> = {
  "iam.us-east-1.amazonaws.com": "iam.amazonaws.com",
  "iam.us-gov-west-1.amazonaws.com": "iam.us-gov.amazonaws.com",
};

function endpointOfIam(env: NodeJS.ProcessEnv, home: string): Endpoint {
  const { AWS_USE_FIPS_ENDPOINT: _, AWS_USE_DUALSTACK_ENDPOINT: __, ...plain } = env;
  const found = endpointOf("iam", plain, home);
  const host = ownNames[found.host];
  return host === undefined ? found : { ...found, host, hostname: host };
}
