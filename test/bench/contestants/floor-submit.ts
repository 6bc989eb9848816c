import { randomUUID } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from "aws-lambda";

// The bare calls of a submit: put the record, send the message. Nothing is checked.

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const queue = new SQSClient({});
const TableName = process.env.BENCH_TABLE;
const QueueUrl = process.env.BENCH_QUEUE_URL;

export async function handler(event: APIGatewayProxyEventV2): Promise<APIGatewayProxyStructuredResultV2> {
  const body = JSON.parse(event.body ?? "{}");
  const task_id = randomUUID();
  const created_at = new Date().toISOString();
  const record = { tenant_id: "acme", task_id, type: body.type, status: "pending", created_at, attempts: 0 };
  await documents.send(
    new PutCommand({
      TableName,
      Item: { pk: `task#acme#${task_id}`, sk: "record", tenant_pk: "acme", tenant_sk: created_at, ...record },
      ConditionExpression: "attribute_not_exists(pk)",
    }),
  );
  const MessageBody = JSON.stringify({ tenant_id: "acme", task_id, type: body.type, input: body.input });
  await queue.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: "acme" }));
  return {
    statusCode: 202,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ task_id, status: "pending", poll_url: `/tasks/${task_id}`, created_at }),
  };
}
