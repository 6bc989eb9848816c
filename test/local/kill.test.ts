import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  CreateTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { CreateScheduleCommand, GetScheduleCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { expect, test, vi } from "vitest";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { type Fired, startScheduler } from "../../src/local/scheduler/scheduler.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";

const queues = [{ name: "q", visibilitySeconds: 600 }];
const source = (file: string) => JSON.stringify(new URL(`../../src/local/${file}`, import.meta.url).href);

/** Starts the emulators in a process of their own; its scheduler never gets through to a target. */
const program = `
  import { startScheduler } from ${source("scheduler/scheduler.ts")};
  import { startSqs } from ${source("sqs/sqs.ts")};
  import { startTable } from ${source("dynamodb/table.ts")};
  const options = { port: 0, stateDir: process.argv[1] };
  const sqs = await startSqs({ ...options, queues: ${JSON.stringify(queues)} });
  const scheduler = await startScheduler({ ...options, fire: () => new Promise(() => console.log("fired")) });
  const table = await startTable(options);
  console.log(JSON.stringify({ sqs: sqs.url, scheduler: scheduler.url, table: table.url }));
`;

function clients({ sqs, scheduler, table }: Record<"sqs" | "scheduler" | "table", string>) {
  const common = { region: "us-east-1", credentials: { accessKeyId: "local", secretAccessKey: "local" } };
  return {
    sqs: new SQSClient({ ...common, endpoint: sqs }),
    scheduler: new SchedulerClient({ ...common, endpoint: scheduler }),
    table: new DynamoDBClient({ ...common, endpoint: table }),
    q: `${sqs}/000000000000/q`,
  };
}

function start(stateDir: string): ChildProcess {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program, stateDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return child;
}

test("data that was answered before kill -9 exists after it", async ({ onTestFinished }) => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-"));
  const child = start(stateDir);
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const before = clients(JSON.parse((await lines.next()).value ?? ""));

  const MessageAttributes = { n: { DataType: "String", StringValue: "1" } };
  const message = { QueueUrl: before.q, MessageBody: "held", MessageGroupId: "acme", MessageAttributes };
  const { MessageId } = await before.sqs.send(new SendMessageCommand(message));
  await before.sqs.send(new ReceiveMessageCommand({ QueueUrl: before.q }));
  await before.sqs.send(new SendMessageCommand({ QueueUrl: before.q, MessageBody: "visible" }));
  await before.sqs.send(new SendMessageCommand({ QueueUrl: before.q, MessageBody: "late", DelaySeconds: 900 }));
  const Attributes = { VisibilityTimeout: "77" };
  await before.sqs.send(new CreateQueueCommand({ QueueName: "made-by-a-client", Attributes }));

  const key = { pk: { S: "a" } };
  const KeySchema = [{ AttributeName: "pk", KeyType: "HASH" as const }];
  const AttributeDefinitions = [{ AttributeName: "pk", AttributeType: "S" as const }];
  const table = { TableName: "tasks", KeySchema, AttributeDefinitions, BillingMode: "PAY_PER_REQUEST" as const };
  await before.table.send(new CreateTableCommand(table));
  const patience = { client: before.table, maxWaitTime: 10, minDelay: 0.02, maxDelay: 0.1 };
  await waitUntilTableExists(patience, { TableName: "tasks" });
  await before.table.send(new PutItemCommand({ TableName: "tasks", Item: { ...key, n: { N: "1" } } }));

  const Target = { Arn: "arn:target", RoleArn: "arn:role", Input: "hello" };
  const FlexibleTimeWindow = { Mode: "OFF" as const };
  const schedule = { Target, FlexibleTimeWindow, ActionAfterCompletion: "DELETE" as const };
  const ScheduleExpression = "at(2026-01-01T00:00:00)";
  await before.scheduler.send(new CreateScheduleCommand({ Name: "under-way", ScheduleExpression, ...schedule }));
  expect((await lines.next()).value).toBe("fired");
  const later = { Name: "later", ScheduleExpression: "at(2199-01-01T00:00:00)" };
  await before.scheduler.send(new CreateScheduleCommand({ ...later, ...schedule }));

  child.kill("SIGKILL");
  await once(child, "exit");

  const fired: Fired[] = [];
  const sqs = await startSqs({ port: 0, stateDir, queues });
  const scheduler = await startScheduler({ port: 0, stateDir, fire: async (event) => void fired.push(event) });
  const tables = await startTable({ port: 0, stateDir });
  onTestFinished(() => Promise.all([sqs.close(), scheduler.close(), tables.close()]).then(() => {}));
  const after = clients({ sqs: sqs.url, scheduler: scheduler.url, table: tables.url });

  expect(sqs.store.counts("q")).toMatchObject({ visible: 1, inFlight: 1, delayed: 1 });
  sqs.store.releaseAll();
  const { Messages } = await after.sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: after.q,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ["All"],
      MessageAttributeNames: ["All"],
    }),
  );
  expect(Messages?.map(({ Body }) => Body).sort()).toEqual(["held", "visible"]);
  expect(Messages?.find(({ Body }) => Body === "held")).toMatchObject({
    MessageId,
    MessageAttributes,
    Attributes: { MessageGroupId: "acme", ApproximateReceiveCount: "2" },
  });
  const made = { QueueUrl: after.q.replace(/q$/, "made-by-a-client"), AttributeNames: ["VisibilityTimeout" as const] };
  expect((await after.sqs.send(new GetQueueAttributesCommand(made))).Attributes).toEqual(Attributes);

  const found = await after.table.send(new GetItemCommand({ TableName: "tasks", Key: key }));
  expect(found.Item).toEqual({ ...key, n: { N: "1" } });

  await vi.waitFor(() => expect(fired).toHaveLength(1), { timeout: 300_000 });
  expect(fired).toMatchObject([{ arn: "arn:target", input: "hello", attempt: 1 }]);
  expect(await after.scheduler.send(new GetScheduleCommand({ Name: "later" }))).toMatchObject(later);
});
