import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DynamoDBClient, ListTablesCommand } from "@aws-sdk/client-dynamodb";
import { LambdaClient, ListFunctionsCommand } from "@aws-sdk/client-lambda";
import { ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";
import { ListQueuesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { GetParameterCommand, SSMClient } from "../src/aws/lean/client-ssm.ts";
import { all, cdk, clientOptions, createKey, type Deployable, deploy, gatewayOf } from "./support/deployment.ts";
import { type EmulatedAccount, emulatedAccount } from "./support/emulated-account.ts";
import { openGateway } from "./support/gateway.ts";

/*
 * On an emulated account, beside each other: `prod`, whose options are all switched on, off and on again, none of which may end in a
 * rollback; and the previews `pr-1` to `pr-3`, which are created, used and destroyed, and leave nothing. One of them gets another value of
 * a variable by a hotswap. `node test/switches.ts previews` leaves `prod` as it is after its first deployment.
 */

const switched = process.argv[2] === "previews" ? ["0"] : ["0", "1", "0", "1"];
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
    for (const on of switched) {
      await deploy(account, own, { on });
      console.log(`Switched: prod with on=${on} is deployed`);
    }
    const before = await resourcesOf(account);
    for (const stage of previews) await tryPreview(account, own, stage);
    await tryHotswap(account, own, previews[0] ?? "");
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
    if (response.status !== 202) throw new Error(`${stage} did not accept a task: ${await response.text()}`);
    const { task_id: id } = (await response.json()) as { task_id: string };
    const task = await ended(`${gateway.url}/tasks/${id}`, token);
    if (task.status !== "completed") throw new Error(`a task of ${stage} did not complete: ${JSON.stringify(task)}`);
  } finally {
    await gateway.close();
  }
}

/** Changes a variable of handlers without CloudFormation. All other variables of the function have to stay as they are. */
async function tryHotswap(account: EmulatedAccount, own: Deployable, stage: string): Promise<void> {
  const before = await workerVariables(account, stage);
  Object.assign(process.env, account.env);
  const reply = await new SSMClient().send(new GetParameterCommand({ Name: `/offload/Offload-${stage}-data/text` }));
  const { Value: text } = reply.Parameter as { Value: string };
  // The emulator does not tell the resolved value of a parameter, which the command line otherwise reads itself.
  const resolved = `Offload-${stage}-service:NamesText=${text}`;
  await deploy(account, own, { stage, preview: "1", greeting: "bonjour" }, "--hotswap", "--parameters", resolved);
  const after = await workerVariables(account, stage);
  if (after.GREETING !== "bonjour" || JSON.stringify({ ...after, GREETING: "hello" }) !== JSON.stringify(before)) {
    throw new Error(`a hotswap changed ${JSON.stringify(before)} to ${JSON.stringify(after)}`);
  }
  console.log(`Hotswap: the variable of ${stage} has its new value, all others are as before`);
}

/** The variables of a deployment's worker, by name. */
async function workerVariables(account: EmulatedAccount, stage: string): Promise<Record<string, string>> {
  const client = new LambdaClient(clientOptions(account));
  const { Functions = [] } = await client.send(new ListFunctionsCommand({}));
  const worker = Functions.find(({ FunctionName: name = "" }) =>
    name.includes(`Offload-${stage}-service-NormalWorker`),
  );
  const all = Object.entries(worker?.Environment?.Variables ?? {});
  return Object.fromEntries(all.toSorted(([a], [b]) => a.localeCompare(b)));
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
async function resourcesOf(account: EmulatedAccount): Promise<string[]> {
  const options = clientOptions(account);
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
