import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { LambdaClient, ListFunctionsCommand } from "@aws-sdk/client-lambda";
import { ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { all, cdk, createKey, type Deployable, deploy, gatewayOf } from "./support/deployment.ts";
import { type EmulatedAccount, emulatedAccount } from "./support/emulated-account.ts";
import { openGateway } from "./support/gateway.ts";

/*
 * On an emulated account, beside each other: `prod`, whose options are all switched on, off and on again, none of which may end in a
 * rollback; and the previews `pr-1` to `pr-3`, which are created, used and destroyed, and leave nothing.
 */

const previews = ["pr-1", "pr-2", "pr-3"];

async function main(): Promise<void> {
  const account = await emulatedAccount();
  const folder = mkdtempSync(join(tmpdir(), "offload-switches-"));
  const own: Deployable = {
    project: fileURLToPath(new URL("../", import.meta.url)),
    folder,
    app: "test/support/switched-app.ts",
  };
  try {
    await cdk(account, own, "bootstrap");
    for (const on of ["0", "1", "0", "1"]) {
      await deploy(account, own, { on });
      console.log(`Switched: prod with on=${on} is deployed`);
    }
    const before = await resourcesOf(account);
    for (const stage of previews) await tryPreview(account, own, stage);
    for (const stage of previews) await destroy(account, own, stage);
    const left = (await resourcesOf(account)).filter((name) => !before.includes(name));
    if (left.length > 0) throw new Error(`the previews left ${left.join(", ")}`);
    const lost = before.filter((name) => !name.startsWith("Offload-pr-")).length;
    console.log(
      `Previews: ${previews.join(", ")} were created, used and destroyed, and left nothing; prod has its ${lost} resources`,
    );
  } finally {
    await account.stop({ keepLog: false });
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deploys a preview, and submits a task to it. */
async function tryPreview(account: EmulatedAccount, own: Deployable, stage: string): Promise<void> {
  const outputs = all(await deploy(account, own, { stage, preview: "1" }));
  const token = await createKey(account, outputs.TableName ?? "", "acme", "operator");
  const gateway = await openGateway(gatewayOf(account, outputs));
  try {
    const response = await fetch(`${gateway.url}/tasks`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ type: "probe.echo", input: { value: stage } }),
    });
    const { task_id: id } = (await response.json()) as { task_id: string };
    const task = await ended(`${gateway.url}/tasks/${id}`, token);
    if (task.status !== "completed") throw new Error(`a task of ${stage} did not complete: ${JSON.stringify(task)}`);
  } finally {
    await gateway.close();
  }
}

/** Polls a task until it has ended. */
async function ended(url: string, token: string): Promise<{ status: string }> {
  for (let polls = 0; ; polls++) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const task = (await response.json()) as { status: string };
    if (polls > 120 || !["pending", "processing", "scheduled"].includes(task.status)) return task;
    await sleep(1_000);
  }
}

const destroy = (account: EmulatedAccount, own: Deployable, stage: string): Promise<void> =>
  cdk(account, own, "destroy", "--all", "--force", "-c", `stage=${stage}`, "-c", "preview=1");

/** Names of the resources that could be left. */
async function resourcesOf({ endpoint }: EmulatedAccount): Promise<string[]> {
  const options = {
    endpoint: endpoint.href,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  };
  const [queues, functions, tables, buckets] = await Promise.all([
    new SQSClient(options).send(new ListQueuesCommand({})),
    new LambdaClient(options).send(new ListFunctionsCommand({})),
    new DynamoDBClient(options).send(new ListTablesCommand({})),
    new S3Client({ ...options, forcePathStyle: true }).send(new ListBucketsCommand({})),
  ]);
  return [
    ...(queues.QueueUrls ?? []),
    ...(functions.Functions ?? []).map(({ FunctionName: name = "" }) => name),
    ...(tables.TableNames ?? []),
    ...(buckets.Buckets ?? []).map(({ Name: name = "" }) => name),
  ];
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.exitCode = await main().then(
  () => 0,
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    return 1;
  },
);
