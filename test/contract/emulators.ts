import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { CreateScheduleGroupCommand, SchedulerClient } from "@aws-sdk/client-scheduler";
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { s3Blobs } from "../../src/aws/blobs.ts";
import { queueClient, schedulerClient, tableClient } from "../../src/aws/clients.ts";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { type Tier, tiers } from "../../src/core/model/tier.ts";
import type { Clock, FirePayload } from "../../src/core/ports/tasks.ts";
import { createTable } from "../../src/local/dynamodb/create-table.ts";
import { startTable } from "../../src/local/dynamodb/table.ts";
import { startS3 } from "../../src/local/s3/s3.ts";
import { startScheduler } from "../../src/local/scheduler/scheduler.ts";
import { accountId, region } from "../../src/local/sqs/queue-message.ts";
import { startSqs } from "../../src/local/sqs/sqs.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import type { PerTier } from "../../src/settings/config.ts";

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

/** The tier queues and their DLQs in an emulated SQS, whose time may be a test's to move; and a client as Lambda's event source is one. */
export async function emulatedQueues(clock?: Clock) {
  const name = (tier: Tier, end = "") => `contract-${tier}${end}`;
  const queues = tiers.flatMap((tier) => [
    { name: name(tier), visibilitySeconds: 60 },
    { name: name(tier, "-container"), visibilitySeconds: 60 },
    { name: name(tier, "-dlq") },
  ]);
  const server = await startSqs({ port: 0, stateDir: undefined, queues, ...(clock && { clock }) });
  pointTo("SQS", server.url);
  const urls = (end: string) =>
    Object.fromEntries(tiers.map((tier) => [tier, `${server.url}/${accountId}/${name(tier, end)}`])) as PerTier<string>;
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

/** An emulated EventBridge Scheduler, whose time a test moves, and what it fired. */
export async function emulatedScheduler(clock = new FakeClock()) {
  const fired: FirePayload[] = [];
  const server = await startScheduler({
    port: 0,
    stateDir: undefined,
    clock,
    fire: async ({ input }) => {
      fired.push(JSON.parse(input) as FirePayload);
    },
  });
  pointTo("SCHEDULER", server.url);
  const client = schedulerClient();
  const deployment = new SchedulerClient({});
  await deployment.send(new CreateScheduleGroupCommand({ Name: "contract" }));
  deployment.destroy();
  const arn = (service: string, name: string) => `arn:aws:${service}:${region}:${accountId}:${name}`;
  const config = {
    scheduleGroup: "contract",
    fireArn: arn("lambda", "function:fire"),
    schedulerRoleArn: `arn:aws:iam::${accountId}:role/scheduler`,
    schedulerDlqArn: arn("sqs", "scheduler-dlq"),
  };
  const close = async () => {
    client.destroy();
    await server.close();
  };
  return { client, config, clock, fired, close };
}

/** A bucket of its own in an emulated S3, whose time a test moves. */
export async function emulatedBucket(clock = new FakeClock(Date.now())) {
  const bucket = "contract";
  const server = await startS3({ port: 0, stateDir: undefined, buckets: [bucket], clock });
  pointTo("S3", server.url);
  return { blobs: s3Blobs(bucket), clock, close: () => server.close() };
}

/** Lets the emulator's time run, fast, until a call that may wait for it has its answer. */
export async function whileTimeRuns<T>(clock: FakeClock, call: Promise<T>): Promise<T> {
  let over = false;
  const ended = call.finally(() => {
    over = true;
  });
  while (!over) {
    await clock.advance(20);
    await sleep(1);
  }
  return ended;
}
