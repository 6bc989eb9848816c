import { randomUUID } from "node:crypto";
import type { APIGatewayProxyEventV2, SQSEvent, SQSRecord } from "aws-lambda";
import type { Envelope } from "../../src/core/model/envelope.ts";

/** The table that the contestants' environment names. */
export const table = "offload-bench";

/** Messages in a batch: SQS's most without a batching window. */
export const batchSize = 10;

/** Steps of a task in the benchmarks of steps, and the sleeps between them. */
export const stepsPerTask = 5;
export const sleepSeconds = 60;
export const stepTypeName = "bench.steps";

/** A whole task in memory. */
export interface MemoryTask {
  /** True: the task sleeps between its steps. */
  sleeps: boolean;
}

const at = "2027-01-01T00:00:00.000Z";

/** A message that makes a worker do nothing but return its input. */
export const envelopeOf = (taskId: string): Envelope => ({
  ...{ schema_version: "1.0", message_id: randomUUID(), task_id: taskId, type: "probe.echo", tenant_id: "acme" },
  ...{ requested_by: "olga", correlation_id: randomUUID(), enqueued_at: at, max_attempts: 5 },
  input: { value: "hello" },
});

/** A batch as the event source hands it over. */
export const batchOf = (taskIds: readonly string[], receiptHandles?: readonly string[]): SQSEvent => ({
  Records: taskIds.map(
    (taskId, index): SQSRecord => ({
      messageId: randomUUID(),
      receiptHandle: receiptHandles?.[index] ?? "A".repeat(300),
      body: JSON.stringify(envelopeOf(taskId)),
      attributes: {
        ...{ ApproximateReceiveCount: "1", SentTimestamp: "1798761600000", SenderId: "AIDA" },
        ...{ ApproximateFirstReceiveTimestamp: "1798761600001", MessageGroupId: "acme" },
      },
      messageAttributes: {},
      md5OfBody: "",
      ...{ eventSource: "aws:sqs", eventSourceARN: "arn:aws:sqs:us-east-1:000000000000:offload-normal" },
      awsRegion: "us-east-1",
    }),
  ),
});

/** A batch of one task with steps: a new task, whose first attempt reads nothing. */
export function stepBatch(size: number): SQSEvent {
  const batch = freshBatch(size);
  for (const record of batch.Records) {
    record.body = JSON.stringify({ ...JSON.parse(record.body), type: stepTypeName });
  }
  return batch;
}

/** The start of a durable execution, as Lambda hands it to its function. */
export const durableExecution = (): object => ({
  DurableExecutionArn: `arn:aws:lambda:us-east-1:000000000000:function:bench:1/durable-execution/${randomUUID()}/1`,
  CheckpointToken: randomUUID(),
  InitialExecutionState: {
    Operations: [
      {
        ...{ Id: randomUUID(), Type: "EXECUTION", Status: "STARTED", StartTimestamp: new Date(at) },
        ExecutionDetails: { InputPayload: JSON.stringify({ value: "hello" }) },
      },
    ],
  },
});

export const freshBatch = (size = batchSize): SQSEvent => batchOf(Array.from({ length: size }, () => randomUUID()));

/** A request as the gateway hands it to a function, from an operator. */
function requestOf(method: string, path: string, routeKey: string, body?: object): APIGatewayProxyEventV2 {
  const headers = {
    ...{ accept: "*/*", authorization: "Bearer ofl_key_secret", host: "abc.execute-api.us-east-1.amazonaws.com" },
    ...{ "content-type": "application/json", "user-agent": "bench" },
    ...(body === undefined
      ? {}
      : { "idempotency-key": randomUUID(), "content-length": String(JSON.stringify(body).length) }),
  };
  const http = { method, path, protocol: "HTTP/1.1", sourceIp: "192.0.2.1", userAgent: "bench" };
  return {
    ...{ version: "2.0", routeKey, rawPath: path, rawQueryString: "", headers, isBase64Encoded: false },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    requestContext: {
      ...{ accountId: "000000000000", apiId: "abc", domainName: headers.host, domainPrefix: "abc" },
      ...{ http, requestId: randomUUID(), routeKey, stage: "$default", time: at, timeEpoch: Date.parse(at) },
      authorizer: { lambda: { tenant_id: "acme", principal: "olga", role: "operator" } },
    } as unknown as APIGatewayProxyEventV2["requestContext"],
  };
}

export const submitRequest = (): APIGatewayProxyEventV2 =>
  requestOf("POST", "/tasks", "POST /tasks", { type: "probe.echo", input: { value: "hello" } });

export const statusRequest = (taskId: string = randomUUID()): APIGatewayProxyEventV2 =>
  requestOf("GET", `/tasks/${taskId}`, "GET /tasks/{task_id}");

/** A record as it is while its first attempt runs; its times are far ahead, so that no watchdog takes it for overdue. */
export function storedRecord(): Record<string, unknown> {
  const at = "2099-01-01T00:00:00.000Z";
  return {
    ...{ pk: "task#acme#1", sk: "record", tenant_pk: "acme#1", tenant_sk: `${at}#1` },
    ...{ tenant_id: "acme", task_id: randomUUID(), type: "probe.echo", priority: "normal", status: "processing" },
    ...{
      requested_by: "olga",
      correlation_id: randomUUID(),
      request_hash: "h".repeat(27),
      created_at: at,
      updated_at: at,
    },
    ...{ round: 1, attempts: 1, attempts_total: 1, max_attempts: 5, due_at: at, started_at: at, history: [] },
    ...{ lease_until: at, retention_seconds: 604_800 },
    purge_at: Date.parse(at) / 1000,
  };
}
