import { InvalidArgumentError } from "commander";
import { deployedLimits } from "../../aws/deployed-limits.ts";
import { DynamoTable } from "../../aws/dynamo-table.ts";
import { type DynamoDBClientConfig, operatorTable } from "../../aws/operator-table.ts";
import type { AllLimits } from "../../core/limits/limits.ts";
import { parseLimits } from "../../core/limits/parse-limits.ts";
import { PortUnavailable } from "../../core/model/errors.ts";
import { tenantPattern } from "../../core/model/keys.ts";
import { localTable } from "../../settings/config.ts";
import { localUrl } from "./connection.ts";
import type { Options } from "./options.ts";
import { CommandFailed, UsageError } from "./terminal.ts";

/** Time limit for the local server's answer with the URL of its table. */
const healthTimeoutMs = 30_000;

/** Help text of every group of such commands: which table they use. */
export const tableHelp = `
Uses the table of a deployment, with your AWS credentials. Name the table with --table or OFFLOAD_TABLE: it is the stack output
TableName. Region, profile and endpoint come from the AWS environment variables. Without a table name the commands use the table
of the local server, which \`npx offload dev\` runs.
`;

/** The options of commands that work on a deployment's table, with AWS credentials rather than with an API key. */
export const tableOptions = [
  ["--table <name>", "name of the deployment's table", { env: "OFFLOAD_TABLE" }],
  ["--local", "use the local server's table, even if --table or OFFLOAD_TABLE is set"],
  ["--url <url>", "URL of the local server", { env: "OFFLOAD_URL", initial: localUrl }],
  ["--json", "print JSON"],
] as const;

export type TableOptions = Options<typeof tableOptions>;

/** Reads an option's value that must be a tenant's id. */
export function tenantId(text: string): string {
  if (tenantPattern.test(text)) return text;
  throw new InvalidArgumentError("Expected 1 to 64 of A-Z, a-z, 0-9, '_' and '-'.");
}

/** Runs `work` on the table, and reports an error of AWS or of the table in one line. */
export async function onTable<T>(options: TableOptions, work: (table: DynamoTable) => Promise<T>): Promise<T> {
  const { table, config } = await locateTable(options, process.env);
  const documents = operatorTable(config);
  try {
    return await work(new DynamoTable(documents, table));
  } catch (error) {
    if (error instanceof CommandFailed || error instanceof UsageError) throw error;
    throw new CommandFailed(`could not use the table ${table}: ${reasonOf(error)}`, { cause: error });
  } finally {
    documents.destroy();
  }
}

/** Finds the table's name and the settings of the client for it. */
async function locateTable(
  { table, local, url }: TableOptions,
  env: NodeJS.ProcessEnv,
): Promise<{ table: string; config: DynamoDBClientConfig }> {
  const endpoint = env.AWS_ENDPOINT_URL_DYNAMODB;
  if (local !== true && table !== undefined && table !== "") {
    return { table, config: isLoopback(endpoint) ? missingCredentials(env) : {} };
  }
  if (local !== true && isLoopback(endpoint)) return { table: localTable, config: missingCredentials(env) };
  return { table: localTable, config: { ...emulatorCredentials, endpoint: await localEndpoint(url) } };
}

/** An emulator accepts any credentials, but requires some. */
const emulatorCredentials = { region: "us-east-1", credentials: { accessKeyId: "local", secretAccessKey: "local" } };

const missingCredentials = (env: NodeJS.ProcessEnv): DynamoDBClientConfig =>
  env.AWS_ACCESS_KEY_ID === undefined && env.AWS_PROFILE === undefined ? emulatorCredentials : {};

const isLoopback = (url: string | undefined): boolean =>
  ["127.0.0.1", "localhost", "[::1]"].includes(URL.parse(url ?? "")?.hostname ?? "");

/**
 * Reads the limits in the deployment's own settings, below those in its table.
 * @throws Error when they cannot be read
 */
export async function configuredLimits(options: TableOptions): Promise<AllLimits> {
  const { table, config } = await locateTable(options, process.env);
  const isLocal = config.endpoint !== undefined;
  const text = isLocal ? (await healthOf(options.url))?.limits : await deployedLimits(table);
  if (text === undefined) throw new Error(`no function of a deployment with the table ${table} was found`);
  return parseLimits(text);
}

interface LocalHealth {
  dynamodb_url?: string;
  limits?: string;
}

const healthOf = (url: string): Promise<LocalHealth | undefined> =>
  fetch(`${url.replace(/\/+$/, "")}/health`, { signal: AbortSignal.timeout(healthTimeoutMs) })
    .then((response) => response.json() as Promise<LocalHealth>)
    .catch(() => undefined);

/** URL of a local server's table, from its `/health`. */
async function localEndpoint(url: string): Promise<string> {
  const health = await healthOf(url);
  if (health?.dynamodb_url !== undefined) return health.dynamodb_url;
  const why = health === undefined ? "no local server answers" : "a server other than Offload's local server answers";
  throw new CommandFailed(
    `${why} at ${url}; run \`npx offload start\`, or name a deployment's table with --table or OFFLOAD_TABLE`,
  );
}

function reasonOf(error: unknown): string {
  const cause = error instanceof PortUnavailable ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === "ResourceNotFoundException"
    ? "the table does not exist; check its name and the region"
    : cause.message;
}
