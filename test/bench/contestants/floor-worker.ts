import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { ChangeMessageVisibilityBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import type { SQSBatchResponse, SQSEvent, SQSRecord } from "aws-lambda";

// The bare calls that a task needs: hold the messages, claim, complete. No checks, no log, no answer to anything that fails.

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const queue = new SQSClient({});
const TableName = process.env.BENCH_TABLE;
const QueueUrl = process.env.BENCH_QUEUE_URL;

export async function handler(event: SQSEvent): Promise<SQSBatchResponse> {
  const Entries = event.Records.map(({ receiptHandle }, index) => ({
    ...{ Id: String(index), ReceiptHandle: receiptHandle, VisibilityTimeout: 65 },
  }));
  await queue.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries }));
  await Promise.all(event.Records.map(work));
  return { batchItemFailures: [] };
}

async function work(record: SQSRecord): Promise<void> {
  const { tenant_id, task_id, input } = JSON.parse(record.body);
  const Key = { pk: `task#${tenant_id}#${task_id}`, sk: "record" };
  const now = new Date().toISOString();
  await documents.send(
    new UpdateCommand({
      ...{ TableName, Key, ConditionExpression: "#status = :pending" },
      UpdateExpression: "SET #status = :processing, started_at = :now, updated_at = :now ADD attempts :one",
      ExpressionAttributeNames: { "#status": "status" },
      ExpressionAttributeValues: { ":pending": "pending", ":processing": "processing", ":now": now, ":one": 1 },
    }),
  );
  const result = { value: input.value };
  const end = new Date().toISOString();
  await documents.send(
    new UpdateCommand({
      ...{ TableName, Key, ConditionExpression: "#status = :processing" },
      UpdateExpression: "SET #status = :completed, finished_at = :now, updated_at = :now, #result = :result",
      ExpressionAttributeNames: { "#status": "status", "#result": "result" },
      ExpressionAttributeValues: {
        ":processing": "processing",
        ":completed": "completed",
        ":now": end,
        ":result": result,
      },
    }),
  );
}
