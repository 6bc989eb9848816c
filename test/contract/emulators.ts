import { randomUUID } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import {
  CreateScheduleGroupCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
} from "@aws-sdk/client-scheduler";
import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { s3Blobs } from "../../src/aws/blobs.ts";
import { queueClient, schedulerClient, tableClient } from "../../src/aws/clients.ts";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import type { Clock, FirePayload } from "../../src/core/ports/tasks.ts";
import { createTable } from "../../src/local/dynamodb/create-table.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { startS3 } from "../../src/local/s3/s3.ts";
import { startScheduler } from "../../src/local/scheduler/scheduler.ts";
import { accountId, region } from "../../src/local/sqs/queue-message.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import type { PerTier } from "../../src/settings/config.ts";
import { EngineClock, otherEngine } from "./engine.ts";

// The embedded emulators with the deployment's own clients, which find them as deployed ones find AWS: by the environment.

export function pointTo(
  service: "DYNAMODB" | "SQS" | "SCHEDULER" | "CLOUDWATCH" | "S3" | "EVENTBRIDGE",
  url: string,
): void {
  const credentials = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" };
  Object.assign(process.env, { AWS_REGION: region, ...credentials, [`AWS_ENDPOINT_URL_${service}`]: url });
}

/** Another DynamoDB than the local server's, for the suites of the table: `npm run test:dynamodb-local`. */
const other = process.env.OFFLOAD_TEST_DYNAMODB;

/** A table of its own in an emulated DynamoDB. */
export async function emulatedTable() {
  const server =
    other === undefined ? await startTable({ port: 0, stateDir: undefined }) : { url: other, close: async () => {} };
  pointTo("DYNAMODB", server.url);
  const table = `table-${randomUUID()}`;
  const client = new DynamoDBClient({});
  await createTable(client, table);
  client.destroy();
  const documents = tableClient();
  const close = async () => {
    documents.destroy();
    await server.close();
  };
  return { documents, table, dynamoTable: new DynamoTable(documents, table), close };
}

/** A clock for an emulator or engine of a service, which tests move. */
export const movedClock = (service: "SQS" | "S3"): FakeClock =>
  otherEngine(service) === undefined ? new FakeClock(Date.now()) : new EngineClock();

/** The queues by their names, in another engine. */
async function queuesIn(url: string, queues: readonly QueueSpec[]) {
  pointTo("SQS", url);
  const deployment = new SQSClient({});
  const urls = new Map<string, string>();
  for (const { name, visibilitySeconds = 30 } of queues) {
    const Attributes = { VisibilityTimeout: String(visibilitySeconds) };
    const { QueueUrl = "" } = await deployment.send(new CreateQueueCommand({ QueueName: name, Attributes }));
    urls.set(name, `${url}${new URL(QueueUrl).pathname}`);
  }
  deployment.destroy();
  return { urlOf: (name: string) => urls.get(name) ?? "", close: async () => {} };
}

interface QueueSpec {
  readonly name: string;
  readonly visibilitySeconds?: number;
}

/** The queues in the local server's SQS. */
async function ownQueues(queues: QueueSpec[], clock: Clock | undefined) {
  const server = await startSqs({ port: 0, stateDir: undefined, queues, ...(clock && { clock }) });
  pointTo("SQS", server.url);
  return { urlOf: (name: string) => `${server.url}/${accountId}/${name}`, close: () => server.close() };
}

/** The tier queues and their DLQs in an emulated SQS, whose time may be a test's to move; and a client as Lambda's event source is one. */
export async function emulatedQueues(clock?: Clock) {
  const deployment = randomUUID().slice(0, 8);
  const name = (tier: Tier, end = "") => `contract-${deployment}-${tier}${end}`;
  const queues = tiers.flatMap((tier) => [
    { name: name(tier), visibilitySeconds: 60 },
    { name: name(tier, "-container"), visibilitySeconds: 60 },
    { name: name(tier, "-dlq") },
  ]);
  const other = otherEngine("SQS");
  const server = await (other === undefined ? ownQueues(queues, clock) : queuesIn(other, queues));
  const urls = (end: string) =>
    Object.fromEntries(tiers.map((tier) => [tier, server.urlOf(name(tier, end))])) as PerTier<string>;
  const client = queueClient();
  const eventSource = new SQSClient({});
  const close = async () => {
    client.destroy();
    eventSource.destroy();
    await server.close();
  };
  return {
    client,
    eventSource,
    queueUrls: urls(""),
    containerQueueUrls: urls("-container"),
    dlqUrls: urls("-dlq"),
    close,
  };
}

/** Receives up to 10 messages of a queue, in the shape in which Lambda's event source hands them on. */
export async function receiveRecords(client: SQSClient, QueueUrl: string, VisibilityTimeout: number) {
  const command = new ReceiveMessageCommand({
    QueueUrl,
    MaxNumberOfMessages: 10,
    VisibilityTimeout,
    MessageSystemAttributeNames: ["All"],
    MessageAttributeNames: ["All"],
  });
  const { Messages = [] } = await client.send(command);
  return Messages.map(
    ({ MessageId, ReceiptHandle, Body, Attributes, MessageAttributes = {} }) =>
      ({
        messageId: MessageId,
        receiptHandle: ReceiptHandle,
        body: Body,
        attributes: Attributes,
        messageAttributes: Object.fromEntries(
          Object.entries(MessageAttributes).map(([name, { StringValue, DataType }]) => [
            name,
            { stringValue: StringValue, dataType: DataType },
          ]),
        ),
      }) as SQSRecord,
  );
}

/** EventBridge Scheduler in the local server, whose time a test moves, and what it fired. */
async function ownScheduler(clock: FakeClock, fired: FirePayload[]) {
  const server = await startScheduler({
    port: 0,
    stateDir: undefined,
    clock,
    fire: async ({ input }) => {
      fired.push(JSON.parse(input) as FirePayload);
    },
  });
  return { url: server.url, fire: async () => {}, close: () => server.close() };
}

/** Another engine, which only stores schedules: one-offs that are due by the test's time are fired here. */
function storeOfSchedules(url: string, group: string, clock: FakeClock, fired: FirePayload[]) {
  const fire = async () => {
    const client = new SchedulerClient({});
    const { Schedules = [] } = await client.send(new ListSchedulesCommand({ GroupName: group }));
    const all = Schedules.map(({ Name }) => client.send(new GetScheduleCommand({ GroupName: group, Name })));
    const atOf = (expression = "") => Date.parse(`${expression.slice("at(".length, -1)}Z`);
    const due = (await Promise.all(all)).filter((one) => atOf(one.ScheduleExpression) <= clock.now());
    due.sort((a, b) => atOf(a.ScheduleExpression) - atOf(b.ScheduleExpression));
    for (const { Name, Target, ActionAfterCompletion } of due) {
      fired.push(JSON.parse(Target?.Input ?? "") as FirePayload);
      if (ActionAfterCompletion === "DELETE") await client.send(new DeleteScheduleCommand({ GroupName: group, Name }));
    }
    client.destroy();
  };
  return { url, fire, close: async () => {} };
}

/** An emulated EventBridge Scheduler, whose time a test moves, and what it fired. */
export async function emulatedScheduler(clock = new FakeClock()) {
  const fired: FirePayload[] = [];
  const group = `contract-${randomUUID()}`;
  const other = otherEngine("SCHEDULER");
  const server = other === undefined ? await ownScheduler(clock, fired) : storeOfSchedules(other, group, clock, fired);
  pointTo("SCHEDULER", server.url);
  const client = schedulerClient();
  const deployment = new SchedulerClient({});
  await deployment.send(new CreateScheduleGroupCommand({ Name: group }));
  deployment.destroy();
  const arn = (service: string, name: string) => `arn:aws:${service}:${region}:${accountId}:${name}`;
  const config = {
    scheduleGroup: group,
    fireArn: arn("lambda", "function:fire"),
    schedulerRoleArn: `arn:aws:iam::${accountId}:role/scheduler`,
    schedulerDlqArn: arn("sqs", "scheduler-dlq"),
  };
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { client, config, clock, fired, fire: server.fire, close };
}

/** A bucket of its own in an emulated S3, whose time a test moves. */
export async function emulatedBucket(clock = movedClock("S3")) {
  const bucket = `contract-${randomUUID()}`;
  const other = otherEngine("S3");
  const server =
    other === undefined
      ? await startS3({ port: 0, stateDir: undefined, buckets: [bucket], clock })
      : { url: other, close: async () => {} };
  pointTo("S3", server.url);
  if (other !== undefined) await createBucket(bucket);
  return { blobs: s3Blobs(bucket), clock, close: () => server.close() };
}

async function createBucket(Bucket: string): Promise<void> {
  const deployment = new S3Client({ forcePathStyle: true });
  await deployment.send(new CreateBucketCommand({ Bucket }));
  deployment.destroy();
}
