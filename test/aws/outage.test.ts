import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteMessageCommand, ListQueuesCommand } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../src/aws/process.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { toEnv } from "../../src/settings/config.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable, pointTo, receiveRecords } from "../contract/emulators.ts";
import { outages, type Stub, startStub } from "../support/outage.ts";
import { taskTypes } from "../support/own-types.ts";

/** The bound that callers can rely on, in milliseconds. */
const promisedMs = 10_000;

/** Time that a test adds to the machine's: leases and hidden messages end without a wait. */
const shifted = { byMs: 0 };

vi.mock(import("../../src/aws/watchdog.ts"), () => ({ threadWatchdog: () => ({ guard: () => () => {} }) }));

interface Answer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}
type Handler = (event: unknown, context: Context) => Promise<Answer>;

const folder = mkdtempSync(join(tmpdir(), "offload-outage-"));
const cleanups: (() => Promise<void>)[] = [];
// Functions add the remaining time to the machine's time, and compare the sum with the shifted time.
const context = { getRemainingTimeInMillis: () => 900_000 + shifted.byMs } as Context;
let table: Stub;
let queue: Stub;
let scheduler: Stub;
let functions: Record<"submit" | "status" | "control", Handler>;
let authorize: (event: unknown) => Promise<{ context: Record<string, unknown> }>;
let workOn: (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;
let receive: () => Promise<SQSEvent>;
let acknowledge: (event: SQSEvent, response: SQSBatchResponse) => Promise<void>;

beforeAll(async () => {
  const now = systemClock.now;
  vi.spyOn(systemClock, "now").mockImplementation(() => now() + shifted.byMs);
  const emulators = {
    table: await emulatedTable(),
    queues: await emulatedQueues(systemClock),
    scheduler: await emulatedScheduler(),
  };
  const { queues } = emulators;
  const urls = { table: process.env.AWS_ENDPOINT_URL_DYNAMODB, scheduler: process.env.AWS_ENDPOINT_URL_SCHEDULER };
  const queueServer = new URL(queues.queueUrls.normal).origin;
  // The SDK's client reads its endpoint with its first request.
  await queues.eventSource.send(new ListQueuesCommand({}));
  [table, queue, scheduler] = await Promise.all([
    startStub(urls.table ?? ""),
    startStub(queueServer),
    startStub(urls.scheduler ?? ""),
  ]);
  pointTo("DYNAMODB", table.url);
  pointTo("SQS", queue.url);
  pointTo("SCHEDULER", scheduler.url);
  for (const stub of [table, queue, scheduler]) cleanups.push(stub.close);
  cleanups.push(emulators.table.close, queues.close, emulators.scheduler.close);
  const types = await taskTypes();
  const catalogFile = join(folder, "catalog.json");
  writeFileSync(catalogFile, JSON.stringify(toCatalog(types)));
  const schedulesFile = join(folder, "schedules.json");
  writeFileSync(schedulesFile, "[]");
  const viaStub = (of: typeof queues.queueUrls) =>
    JSON.parse(JSON.stringify(of).replaceAll(queueServer, queue.url)) as typeof of;
  Object.assign(
    process.env,
    toEnv({
      ...{ table: emulators.table.table, bucket: "outage", catalogFile, schedulesFile, probes: "1", tier: "normal" },
      timeScale: "0.001",
      ...{ queueUrls: viaStub(queues.queueUrls), dlqUrls: viaStub(queues.dlqUrls), cursorKey: "k".repeat(32) },
      firingsUrl: viaStub(queues.queueUrls).low,
      webhookKey: Buffer.alloc(32, 7).toString("base64"),
      ...emulators.scheduler.config,
    }),
  );
  vi.spyOn(process.stdout, "write").mockImplementation(() => true);
  vi.spyOn(process.stderr, "write").mockImplementation(() => true);
  const [submit, status, control, authorizer, worker] = await Promise.all([
    import("../../lambdas/submit.ts"),
    import("../../lambdas/status.ts"),
    import("../../lambdas/control.ts"),
    import("../../lambdas/authorizer.ts"),
    import("../../lambdas/worker.ts"),
  ]);
  functions = { submit: submit.handler, status: status.handler, control: control.handler } as never;
  authorize = authorizer.handler as never;
  workOn = (await worker.createWorker(types)) as never;
  receive = async () => ({ Records: await receiveRecords(queues.eventSource, queues.queueUrls.normal, 60) });
  acknowledge = async ({ Records }, { batchItemFailures }) => {
    const again = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    for (const { messageId, receiptHandle } of Records) {
      if (again.has(messageId)) continue;
      const command = { QueueUrl: queues.queueUrls.normal, ReceiptHandle: receiptHandle };
      await queues.eventSource.send(new DeleteMessageCommand(command));
    }
  };
  // A worker that knows pauses and limits goes on with them while it cannot read them.
  expect(await completed([await submitted("warm")])).toEqual(["completed"]);
});

afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of cleanups) await close();
  rmSync(folder, { recursive: true });
});

const identity = { tenant_id: "acme", principal: "olga", role: "operator" };

/** A request as the gateway hands it to a function. */
const eventOf = (method: string, path: string, body?: object, headers: object = {}, authorizer: object = identity) => ({
  version: "2.0",
  routeKey: "$default",
  rawPath: path,
  rawQueryString: "",
  headers: { host: "localhost", "content-type": "application/json", ...headers },
  isBase64Encoded: false,
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  requestContext: {
    http: { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "test" },
    authorizer: { lambda: authorizer },
  },
});

let tokens = 0;

/** A bearer token that the authorizer has not seen before. */
const newToken = () => `Bearer ofl_${String(tokens++).padStart(16, "a").replaceAll(/[01]/g, "b")}_${"s".repeat(43)}`;

/** Calls a function, and returns its answer with the time that it took. */
async function timed<T>(call: Promise<T>): Promise<{ answer: T; tookMs: number }> {
  const start = Date.now();
  const answer = await call;
  return { answer, tookMs: Date.now() - start };
}

const request = (name: keyof typeof functions, ...event: Parameters<typeof eventOf>) =>
  timed(functions[name](eventOf(...event), context));

const echo = (value: unknown) => ({ type: "probe.echo", input: { value } });

const schedule = (name: string) => ({ name, task: echo("scheduled"), cron: "0 9 * * *", timezone: "UTC" });

async function submitted(value: unknown): Promise<string> {
  const { answer } = await request("submit", "POST", "/tasks", echo(value));
  expect(answer).toMatchObject({ statusCode: 202 });
  return (JSON.parse(answer.body) as { task_id: string }).task_id;
}

async function statusOf(taskId: string): Promise<string> {
  const { answer } = await request("status", "GET", `/tasks/${taskId}`);
  return (JSON.parse(answer.body) as { status: string }).status;
}

/** Lets time pass and workers work until the tasks have ended. */
async function completed(taskIds: readonly string[]): Promise<string[]> {
  for (let round = 0; round < 20; round++) {
    const statuses = await Promise.all(taskIds.map(statusOf));
    if (statuses.every((status) => status === "completed")) return statuses;
    shifted.byMs += 120_000;
    const event = await receive();
    if (event.Records.length > 0) await acknowledge(event, await workOn(event, context));
  }
  return Promise.all(taskIds.map(statusOf));
}

/** Expects the problem that tells a client to try again, and returns the time that it took. */
function expectUnavailable({ answer, tookMs }: { answer: Answer; tookMs: number }): number {
  expect(answer).toMatchObject({
    statusCode: 503,
    headers: {
      "content-type": "application/problem+json",
      "retry-after": expect.stringMatching(/^\d+$/),
      "x-correlation-id": expect.any(String),
    },
  });
  expect(JSON.parse(answer.body)).toMatchObject({ code: "unavailable" });
  return tookMs;
}

describe.each(outages)("while the table is %s", (outage) => {
  test("every caller gets a problem in time, the worker lets go, and the tasks complete afterwards", async () => {
    const neighbour = await submitted(0);
    const taskIds = [await submitted(1), await submitted(2)];
    const batch = await receive();
    // Only connections fail for all tasks alike: otherwise the neighbour's record can be read and written.
    await table.breakDown(outage, (body) => !body.includes(neighbour));
    const id = taskIds[0];
    const [authorized, worked, ...answers] = await Promise.all([
      timed(authorize({ headers: { authorization: newToken() } })),
      timed(workOn(batch, context)),
      request("submit", "POST", "/tasks", echo(3)),
      request("submit", "POST", "/tasks", echo(3), { "idempotency-key": `table ${outage}` }),
      request("status", "GET", `/tasks/${id}`),
      request("status", "GET", "/tasks"),
      request("control", "POST", `/tasks/${id}/cancel`),
      request("control", "POST", "/schedules", schedule(`table-${outage}`)),
    ]);
    await table.recover();
    expect(authorized.answer.context).toEqual({ unavailable: expect.any(String) });
    const tookMs = answers.map(expectUnavailable);
    expect(authorized.tookMs + Math.max(...tookMs)).toBeLessThan(promisedMs);
    expect(worked.answer.batchItemFailures).toHaveLength(outage === "refusing" ? 3 : 2);
    expect(worked.tookMs).toBeLessThan(20_000);
    await acknowledge(batch, worked.answer);
    // A client that repeats its request has one task.
    const again = await request("submit", "POST", "/tasks", echo(3), { "idempotency-key": `table ${outage}` });
    expect(again.answer.statusCode).toBe(202);
    const repeated = (JSON.parse(again.answer.body) as { task_id: string }).task_id;
    expect(await completed([neighbour, ...taskIds, repeated])).toEqual(new Array(4).fill("completed"));
  });
});

describe.each(outages)("while queue and scheduler are %s", (outage) => {
  test("every caller gets a problem in time, the worker goes on, and the requests succeed afterwards", async () => {
    const taskIds = [await submitted(1), await submitted(2)];
    const batch = await receive();
    const later = { ...echo(4), delay_seconds: 7_200 };
    const [key, laterKey] = [{ "idempotency-key": `now ${outage}` }, { "idempotency-key": `later ${outage}` }];
    // Checks of rules go on, so that the request to create a schedule reaches the scheduler.
    await Promise.all([queue.breakDown(outage, (body) => !body.includes("rule_check")), scheduler.breakDown(outage)]);
    const [worked, ...answers] = await Promise.all([
      timed(workOn(batch, context)),
      request("submit", "POST", "/tasks", echo(3)),
      request("submit", "POST", "/tasks", echo(3), key),
      request("submit", "POST", "/tasks", later, laterKey),
      request("control", "GET", "/queues", undefined, {}, { ...identity, role: "admin" }),
      request("control", "POST", "/schedules", schedule(`scheduler-${outage}`)),
    ]);
    await Promise.all([queue.recover(), scheduler.recover()]);
    for (const answer of answers) expect(expectUnavailable(answer)).toBeLessThan(promisedMs);
    expect(worked.answer).toEqual({ batchItemFailures: [] });
    await acknowledge(batch, worked.answer);
    const repeats = [
      await request("submit", "POST", "/tasks", echo(3), key),
      await request("submit", "POST", "/tasks", later, laterKey),
      await request("control", "POST", "/schedules", schedule(`scheduler-${outage}`)),
    ];
    expect(repeats.map(({ answer }) => answer.statusCode)).toEqual([202, 202, 201]);
    const repeated = (JSON.parse(repeats[0]?.answer.body ?? "") as { task_id: string }).task_id;
    expect(await completed([...taskIds, repeated])).toEqual(["completed", "completed", "completed"]);
  });
});
