import { type Command, InvalidArgumentError, Option } from "commander";
import { type DynamoDBClientConfig, type DynamoDBDocumentClient, operatorTable } from "../aws/operator-table.ts";
import { localTable } from "../config.ts";
import { PortUnavailable } from "../core/errors.ts";
import { tenantPattern } from "../core/keys.ts";
import { Failure, Misuse } from "./terminal.ts";

/** How long the local server may take to say where its table is. */
const patienceMs = 5_000;

/** The options of commands that work on a deployment's table, with AWS credentials rather than with an API key. */
export interface Deployment {
  table?: string;
  local?: boolean;
  url: string;
  json?: boolean;
}

/** What every group of such commands says about where it works. */
export const whereItWorks = `
Works on the table of a deployment, with your AWS credentials: --table or OFFLOAD_TABLE is the stack's output TableName;
region, profile and endpoint come from AWS's own variables. Without a table it is the local server's, which \`npm start\` runs.
`;

/** Adds the options that say which table. */
export const withDeployment = (command: Command): Command =>
  command
    .addOption(new Option("--table <name>", "the deployment's table").env("OFFLOAD_TABLE"))
    .option("--local", "the local server's table, whatever else is set")
    .addOption(new Option("--url <url>", "the local server").env("OFFLOAD_URL").default("http://127.0.0.1:3000"))
    .option("--json", "print JSON");

/** Reads an option's value that must be a tenant's id. */
export function tenantId(text: string): string {
  if (tenantPattern.test(text)) return text;
  throw new InvalidArgumentError("Expected 1 to 64 of A-Z, a-z, 0-9, '_' and '-'.");
}

/** Works on the table; what AWS or the table has against it is said in one line. */
export async function onTable<T>(
  options: Deployment,
  work: (documents: DynamoDBDocumentClient, table: string) => Promise<T>,
): Promise<T> {
  const { table, config } = await placeOf(options, process.env);
  const documents = operatorTable(config);
  try {
    return await work(documents, table);
  } catch (error) {
    if (error instanceof Failure || error instanceof Misuse) throw error;
    throw new Failure(`the table ${table} does not answer: ${reasonOf(error)}`, { cause: error });
  } finally {
    documents.destroy();
  }
}

/** Which table, and how to get there. */
async function placeOf(
  { table, local, url }: Deployment,
  env: NodeJS.ProcessEnv,
): Promise<{ table: string; config: DynamoDBClientConfig }> {
  const endpoint = env.AWS_ENDPOINT_URL_DYNAMODB;
  if (local !== true && table !== undefined && table !== "") {
    return { table, config: isLoopback(endpoint) ? asAnybody(env) : {} };
  }
  if (local !== true && isLoopback(endpoint)) return { table: localTable, config: asAnybody(env) };
  return { table: localTable, config: { ...anybody, endpoint: await localEndpoint(url) } };
}

/** An emulator takes any credentials, but some. */
const anybody = { region: "us-east-1", credentials: { accessKeyId: "local", secretAccessKey: "local" } };

const asAnybody = (env: NodeJS.ProcessEnv): DynamoDBClientConfig =>
  env.AWS_ACCESS_KEY_ID === undefined && env.AWS_PROFILE === undefined ? anybody : {};

const isLoopback = (url: string | undefined): boolean =>
  ["127.0.0.1", "localhost", "[::1]"].includes(URL.parse(url ?? "")?.hostname ?? "");

/** Where a local server's table is, as its `/health` says. */
async function localEndpoint(url: string): Promise<string> {
  const health = await fetch(`${url.replace(/\/+$/, "")}/health`, { signal: AbortSignal.timeout(patienceMs) })
    .then((response) => response.json() as Promise<{ dynamodb_url?: string }>)
    .catch(() => undefined);
  if (health?.dynamodb_url !== undefined) return health.dynamodb_url;
  const why = health === undefined ? "no local server answers" : "no local server is";
  throw new Failure(
    `${why} at ${url}; \`npx offload start\` starts one, --table or OFFLOAD_TABLE names a deployment's`,
  );
}

function reasonOf(error: unknown): string {
  const cause = error instanceof PortUnavailable ? (error.cause ?? error) : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === "ResourceNotFoundException"
    ? "there is no such table here; is the region right?"
    : cause.message;
}
