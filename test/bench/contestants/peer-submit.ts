import { randomUUID } from "node:crypto";
import { IdempotencyConfig, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";
import { Logger } from "@aws-lambda-powertools/logger";
import { parse } from "@aws-lambda-powertools/parser";
import { ApiGatewayV2Envelope } from "@aws-lambda-powertools/parser/envelopes/api-gatewayv2";
import { JSONStringified } from "@aws-lambda-powertools/parser/helpers";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { DynamoDBDocumentClient, PutCommand } from "@aws-sdk/lib-dynamodb";
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from "aws-lambda";
import { z } from "zod";

// A submit as a team writes it on Powertools: parser for the request, idempotency by the client's key, logger.

const submitSchema = z.strictObject({
  type: z.enum(["probe.echo"]),
  input: z.strictObject({ value: z.unknown() }),
  priority: z.enum(["critical", "high", "normal", "low"]).default("normal"),
  delay_seconds: z.int().min(0).max(900).default(0),
  tags: z.record(z.string(), z.string()).optional(),
});

const logger = new Logger({ serviceName: "submit" });
const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const queue = new SQSClient({});
const TableName = process.env.BENCH_TABLE;
const QueueUrl = process.env.BENCH_QUEUE_URL;
const persistenceStore = new DynamoDBPersistenceLayer({ tableName: "idempotency" });
const config = new IdempotencyConfig({ eventKeyJmesPath: "key", expiresAfterSeconds: 604_800 });

interface Submit {
  key: string;
  body: z.output<typeof submitSchema>;
  correlationId: string;
}

const submit = makeIdempotent(
  async ({ body, correlationId }: Submit) => {
    const task_id = randomUUID();
    const created_at = new Date().toISOString();
    const record = { tenant_id: "acme", task_id, type: body.type, status: "pending", created_at, attempts: 0 };
    const Item = { pk: `task#acme#${task_id}`, sk: "record", tenant_pk: "acme", tenant_sk: created_at, ...record };
    await documents.send(new PutCommand({ TableName, Item, ConditionExpression: "attribute_not_exists(pk)" }));
    const envelope = {
      ...{ schema_version: "1.0", message_id: randomUUID(), task_id, type: body.type, tenant_id: "acme" },
      ...{
        requested_by: "olga",
        correlation_id: correlationId,
        enqueued_at: created_at,
        max_attempts: 5,
        input: body.input,
      },
    };
    const MessageBody = JSON.stringify(envelope);
    await queue.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: "acme" }));
    return { task_id, status: "pending", poll_url: `/tasks/${task_id}`, created_at };
  },
  { persistenceStore, config },
);

export async function handler(
  event: APIGatewayProxyEventV2,
  context: Context,
): Promise<APIGatewayProxyStructuredResultV2> {
  config.registerLambdaContext(context);
  const body = parse(event, ApiGatewayV2Envelope, JSONStringified(submitSchema));
  const key = event.headers["idempotency-key"] ?? randomUUID();
  const correlationId = event.headers["x-correlation-id"] ?? randomUUID();
  const answer = await submit({ key, body, correlationId });
  logger.info("task accepted", { task_id: answer.task_id, correlation_id: correlationId });
  return { statusCode: 202, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
}
