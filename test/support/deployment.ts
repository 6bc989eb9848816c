import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import { title } from "../../lib/per-tier.ts";
import { keys } from "../../src/aws/table.ts";
import { hashSecret } from "../../src/core/model/keys.ts";
import { type Role, tiers } from "../../src/core/model/words.ts";
import type { EmulatedAccount } from "./emulated-account.ts";

/** Outputs of a deployment, by stack. */
export type Outputs = Record<string, Record<string, string>>;

/** A project to deploy. */
export interface Deployable {
  /** Folder of the project. */
  project: string;
  /** Folder for the cloud assembly and the outputs. */
  folder: string;
  /** File of the CDK app, from the project's folder. */
  app: string;
}

/** `cdk deploy`, as a user would call it in the project's folder. */
export async function deploy(
  account: EmulatedAccount,
  deployable: Deployable,
  context: Record<string, string>,
  ...more: readonly string[]
): Promise<Outputs> {
  const outputsFile = join(deployable.folder, "outputs.json");
  const settings = Object.entries(context).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const args = ["--all", ...settings, "--require-approval", "never", "--outputs-file", outputsFile, ...more];
  await cdk(account, deployable, "deploy", ...args);
  return JSON.parse(readFileSync(outputsFile, "utf8")) as Outputs;
}

export async function cdk(
  account: EmulatedAccount,
  { project, folder, app }: Deployable,
  command: string,
  ...args: string[]
): Promise<void> {
  const common = ["--app", `node ${app}`, "--output", join(folder, "cdk.out"), "--no-notices"];
  const env = { ...account.env, CI: "true", CDK_DISABLE_CLI_TELEMETRY: "true" };
  const code = await run("cdk", [command, ...common, ...args], env, project);
  if (code !== 0) throw new Error(`cdk ${command} ended with ${code}`);
}

/** The outputs of all stacks. */
export const all = (outputs: Outputs) => Object.assign({}, ...Object.values(outputs)) as Record<string, string>;

export const gatewayOf = ({ endpoint }: EmulatedAccount, outputs: Record<string, string>) => ({
  endpoint,
  apiId: new URL(outputs.ApiUrl ?? "").hostname.split(".")[0] ?? "",
});

/** Options of a client of the AWS SDK. */
export const clientOptions = ({ endpoint }: EmulatedAccount) => ({
  endpoint: endpoint.href,
  region: "us-east-1",
  credentials: { accessKeyId: "test", secretAccessKey: "test" },
});

/** URLs of the queue and the DLQ of each tier. CloudFormation makes their names from the stack's name and the logical ids. */
export async function tierQueues(account: EmulatedAccount, stack: string) {
  const client = new SQSClient(clientOptions(account));
  const urlOf = async (id: string) => {
    const { QueueUrls } = await client.send(new ListQueuesCommand({ QueueNamePrefix: `${stack}-${id}` }));
    return QueueUrls?.[0];
  };
  const urls = tiers.map(async (tier) => [
    tier,
    { url: await urlOf(`${title(tier)}Queue`), dlq_url: await urlOf(`${title(tier)}Dlq`) },
  ]);
  return Object.fromEntries(await Promise.all(urls));
}

/** Writes an API key into the table. Returns it. */
export async function createKey(
  account: EmulatedAccount,
  TableName: string,
  tenant: string,
  role: Role,
): Promise<string> {
  const client = new DynamoDBClient(clientOptions(account));
  const keyId = randomBytes(6).toString("hex");
  const secret = randomBytes(24).toString("hex");
  const Item = {
    ...keys.apiKey(keyId),
    secret_hash: hashSecret(secret),
    tenant_id: tenant,
    role,
    principal: keyId,
    created_at: new Date().toISOString(),
  };
  await DynamoDBDocumentClient.from(client).send(new PutCommand({ TableName, Item }));
  return `ofl_${keyId}_${secret}`;
}

/** Runs a command with this process's output. Resolves with its exit code. */
export function run(command: string, args: string[], env: NodeJS.ProcessEnv, cwd = "."): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: "inherit" });
    const kill = () => child.kill();
    process.once("exit", kill);
    child.once("error", reject);
    child.once("exit", (code) => {
      process.off("exit", kill);
      resolve(code ?? 1);
    });
  });
}
