/** Address that requests are sent to. */
export interface Endpoint {
  protocol: string;
  hostname: string;
  port?: number;
  host: string;
}

/** @throws Error when the variable is not set */
export function required(env: NodeJS.ProcessEnv, variable: string): string {
  const value = env[variable];
  if (value === undefined || value === "") {
    throw new Error(
      `${variable} is not set. Lambda and \`npm start\` set it. Set it yourself to start a function in another way.`,
    );
  }
  return value;
}

/**
 * Start of variables with addresses, and a variable with the key, that count for Offload's own clients only: where a
 * deployed worker runs on the local server, the clients of handlers keep the variables of AWS.
 */
export const ownEndpointPrefix = "OFFLOAD_ENDPOINT_";
export const ownKeyVariable = "OFFLOAD_ACCESS_KEY";

/** Credentials of AWS, as signers take them. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

let source: (() => Promise<Credentials>) | undefined;

/** Sets where the clients of this process get their credentials, in place of Lambda's variables. */
export function takeCredentialsFrom(given: () => Promise<Credentials>): void {
  source = given;
}

/** Credentials of a client's requests. */
export type CredentialsReader = () => Credentials | Promise<Credentials>;

/**
 * Reads the credentials of a client. Variables are read once: Lambda does not change those of a process.
 */
export function credentialsReader(env: NodeJS.ProcessEnv): CredentialsReader {
  let kept: Credentials | undefined;
  return () => {
    if (source !== undefined) return source();
    kept ??= variablesOf(env);
    return kept;
  };
}

/**
 * The credentials that Lambda sets as variables. Lambda's other way, an address that returns credentials, is only for
 * runtimes that start from a snapshot.
 */
function variablesOf(env: NodeJS.ProcessEnv): Credentials {
  const own = env[ownKeyVariable];
  if (own) return { accessKeyId: own, secretAccessKey: own };
  if (!env.AWS_ACCESS_KEY_ID && env.AWS_CONTAINER_CREDENTIALS_FULL_URI) {
    throw new Error(
      "AWS_ACCESS_KEY_ID is not set. The clients in src/aws/lean do not support credentials from " +
        "AWS_CONTAINER_CREDENTIALS_FULL_URI. To use the SDK's clients, remove the condition " +
        "offload-lean from the bundles (lib/esbuild.ts).",
    );
  }
  return {
    accessKeyId: required(env, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: required(env, "AWS_SECRET_ACCESS_KEY"),
    ...(env.AWS_SESSION_TOKEN && { sessionToken: env.AWS_SESSION_TOKEN }),
  };
}

/**
 * The endpoint in `AWS_ENDPOINT_URL_<SERVICE>` or `AWS_ENDPOINT_URL`. Without them, AWS's endpoint of the Region.
 * @param name The service's name in host names
 * @param given The address in a client's configuration. It wins over the variables.
 * @param id The service's name in variables
 */
export function endpointOf(name: string, env: NodeJS.ProcessEnv, region: string, given?: string, id = name): Endpoint {
  const service = id.toUpperCase();
  const configured =
    given || env[ownEndpointPrefix + service] || env[`AWS_ENDPOINT_URL_${service}`] || env.AWS_ENDPOINT_URL;
  if (configured) return parseEndpoint(configured);
  const [, domain, dualStackDomain] = partitions.find(([start]) => region.startsWith(start)) ?? commercial;
  const isDualStack = env.AWS_USE_DUALSTACK_ENDPOINT === "true";
  const host = `${name}${env.AWS_USE_FIPS_ENDPOINT === "true" ? "-fips" : ""}`;
  // S3 is older than the domains of dual stack.
  if (isDualStack && name === "s3") return parseEndpoint(`https://${host}.dualstack.${region}.${domain}`);
  return parseEndpoint(`https://${host}.${region}.${isDualStack ? dualStackDomain : domain}`);
}

type Partition = readonly [regionStart: string, domain: string, dualStackDomain: string];

const commercial: Partition = ["", "amazonaws.com", "api.aws"];

/** The other partitions of AWS, with the domains of their endpoints, as the SDK's rules have them. */
const partitions: readonly Partition[] = [
  ["cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"],
  ["eusc-", "amazonaws.eu", "api.amazonwebservices.eu"],
  ["us-iso-", "c2s.ic.gov", "api.aws.ic.gov"],
  ["us-isob-", "sc2s.sgov.gov", "api.aws.scloud"],
  ["us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"],
  ["eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"],
];

export function parseEndpoint(url: string): Endpoint {
  const { protocol, hostname, port, host } = new URL(url);
  return { protocol, hostname, host, ...(port !== "" && { port: Number(port) }) };
}
