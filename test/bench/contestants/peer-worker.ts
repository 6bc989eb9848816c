import { BatchProcessor, EventType, processPartialResponse } from "@aws-lambda-powertools/batch";
import { parser } from "@aws-lambda-powertools/batch/parser";
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";
import { Logger } from "@aws-lambda-powertools/logger";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ChangeMessageVisibilityCommand, SQSClient } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { Context, SQSEvent } from "aws-lambda";
import { z } from "zod";

// The same work as a team writes it on Powertools: batch with parser, idempotency for each message, logger, and a status
// table kept by hand. A record's handler sees its own message only, so each message is held by a request of its own.

const envelope = z.object({
  schema_version: z.string(),
  message_id: z.string().min(1).max(128),
  task_id: z.uuid(),
  type: z.string().min(1).max(64),
  tenant_id: z.string().min(1).max(128),
  requested_by: z.string(),
  correlation_id: z.string(),
  enqueued_at: z.string(),
  max_attempts: z.int(),
  input: z.strictObject({ value: z.unknown() }),
});
type Envelope = z.output<typeof envelope>;

const logger = new Logger({ serviceName: "worker" });
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const queue = new SQSClient({});
const TableName = process.env.BENCH_TABLE;
const QueueUrl = process.env.BENCH_QUEUE_URL;
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: "idempotency" });
const config = new IdempotencyConfig({ eventKeyJmesPath: "task_id", expiresAfterSeconds: 604_800 });
const processor = new BatchProcessor(EventType.SQS, { parser, innerSchema: envelope, transformer: "json" });

const update = (task: Envelope, status: string, from: string, more: Record<string, unknown>) =>
  documents.send(
    new UpdateCommand({
      TableName,
      Key: { pk: `task#${task.tenant_id}#${task.task_id}`, sk: "record" },
      ConditionExpression: "#status = :from",
      UpdateExpression: `SET #status = :status, updated_at = :now${Object.keys(more)
        .map((name) => `, #${name} = :${name}`)
        .join("")}`,
      ExpressionAttributeNames: {
        "#status": "status",
        ...Object.fromEntries(Object.keys(more).map((name) => [`#${name}`, name])),
      },
      ExpressionAttributeValues: {
        ...{ ":from": from, ":status": status, ":now": new Date().toISOString() },
        ...Object.fromEntries(Object.entries(more).map(([name, value]) => [`:${name}`, value])),
      },
    }),
  );

const work = makeIdempotent(
  async (task: Envelope) => {
    await update(task, "processing", "pending", { started_at: new Date().toISOString() });
    const result = { value: task.input.value };
    await update(task, "completed", "processing", { finished_at: new Date().toISOString(), result });
    return result;
  },
  { persistenceStore, config },
);

async function recordHandler(record: unknown): Promise<void> {
  const { body, receiptHandle } = record as { body: Envelope; receiptHandle: string };
  await queue.send(
    new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: receiptHandle, VisibilityTimeout: 65 }),
  );
  await work(body);
  logger.info("task completed", {
    task_id: body.task_id,
    tenant_id: body.tenant_id,
    type: body.type,
    outcome: "completed",
  });
}

export async function handler(event: SQSEvent, context: Context) {
  config.registerLambdaContext(context);
  return processPartialResponse(event, recordHandler, processor, { context });
}
