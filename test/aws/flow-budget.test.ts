import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteMessageCommand, ListQueuesCommand } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { DynamoFlowSettings } from "../../src/aws/flow-settings.ts";
import { createLog } from "../../src/aws/log.ts";
import { SqsQueues } from "../../src/aws/queues.ts";
import { DynamoWaitQueues } from "../../src/aws/wait-queues.ts";
import { resume } from "../../src/core/extras/limits/manage-flow.ts";
import { settingsAgeMs } from "../../src/core/ports/flow.ts";
import { defineTask } from "../../src/core/task/task.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
import { toEnv } from "../../src/settings/config.ts";
import { bytesOf } from "../../src/util/item-bytes.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable, receiveRecords } from "../contract/emulators.ts";
import { flowReads, sent, sentCounts } from "../support/counted-clients.ts";
import { writeUnits } from "../support/item-bytes.ts";
import { clock, shifted } from "../support/shifted-clock.ts";

vi.mock(import("../../src/aws/clients.ts"), async (importOriginal) => {
  const { countedClients } = await import("../support/counted-clients.ts");
  return countedClients(await importOriginal());
});

vi.mock(import("../../src/aws/process.ts"), async (importOriginal) => {
  const { clock } = await import("../support/shifted-clock.ts");
  return { ...(await importOriginal()), systemClock: clock };
});

vi.mock(import("../../src/aws/watchdog.ts"), () => ({ threadWatchdog: () => ({ guard: () => () => {} }) }));

/** The handler of a test that waits until the test ends it. */
let held: { started: PromiseWithResolvers<void>; ended: PromiseWithResolvers<void> };

const handler = async ({ hold }: { hold: boolean }) => {
  if (!hold) return;
  held.started.resolve();
  await held.ended.promise;
};
const input = z.strictObject({ hold: z.boolean(), fail: z.boolean().default(false), text: z.string().default("") });
const types = [
  defineTask({ name: "plain", input, handler }),
  defineTask({ name: "places", input, concurrency: { limit: 1 }, handler }),
  defineTask({ name: "many-places", input, concurrency: { limit: 129 }, handler }),
  defineTask({ name: "fast-rate", input, rateLimit: { limit: 200, perSeconds: 1 }, handler }),
  defineTask({ name: "rate", input, rateLimit: { limit: 1, perSeconds: 10 }, handler }),
  defineTask({
    name: "listed-rates",
    input,
    rateLimit: [
      { limit: 10, perSeconds: 1 },
      { limit: 2, perSeconds: 86_400 },
    ],
    handler,
  }),
  defineTask({
    name: "breaker",
    input,
    breaker: { failures: 2, coolDownSeconds: 60 },
    handler: ({ fail }) => (fail ? Promise.reject(new Error("down")) : Promise.resolve()),
  }),
];

const folder = mkdtempSync(join(tmpdir(), "offload-flow-budget-"));
const cleanups: (() => Promise<void>)[] = [];
let settings: DynamoFlowSettings;
let lines: DynamoWaitQueues;
let resumePause: (type: string) => Promise<void>;
let submitted: (type: string, input?: object) => Promise<string>;
let receive: () => Promise<SQSEvent>;
let workOn: (event: SQSEvent) => Promise<void>;
let poll: (taskId: string) => Promise<Record<string, unknown>>;

beforeAll(async () => {
  const [table, queues, scheduler] = [await emulatedTable(), await emulatedQueues(clock), await emulatedScheduler()];
  cleanups.push(table.close, queues.close, scheduler.close);
  // The SDK's client reads its endpoint with its first request.
  await queues.eventSource.send(new ListQueuesCommand({}));
  const catalogFile = join(folder, "catalog.json");
  writeFileSync(catalogFile, JSON.stringify(toCatalog(types)));
  const { queueUrls, dlqUrls } = queues;
  const env = { table: table.table, bucket: "budget", catalogFile, waits: "10", cursorKey: "k".repeat(32) };
  Object.assign(process.env, toEnv({ ...env, queueUrls, dlqUrls, tier: "normal", ...scheduler.config }));
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, "write").mockImplementation(() => true);
  const [submit, worker, status] = await Promise.all([
    import("../../lambdas/submit.ts"),
    import("../../lambdas/worker.ts"),
    import("../../lambdas/status.ts"),
  ]);
  const context = { getRemainingTimeInMillis: () => 900_000 + shifted.byMs } as Context;
  const eventOf = (method: string, path: string, body?: object) => {
    const authorizer = { lambda: { tenant_id: "acme", principal: "olga", role: "operator" } };
    const http = { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "test" };
    return {
      ...{ version: "2.0", routeKey: "$default", rawPath: path, rawQueryString: "", isBase64Encoded: false },
      headers: { host: "localhost", "content-type": "application/json" },
      requestContext: { http, authorizer },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
  };
  poll = async (taskId) => {
    const answer = await status.handler(eventOf("GET", `/tasks/${taskId}`) as never, context as never);
    return JSON.parse((answer as { body: string }).body);
  };
  submitted = async (type, more = {}) => {
    // Tasks wait in the order of their milliseconds.
    shifted.byMs += 1;
    const event = eventOf("POST", "/tasks", { type, input: { hold: false, ...more } });
    const answer = await submit.handler(event as never, context as never);
    expect(answer).toMatchObject({ statusCode: 202 });
    return JSON.parse((answer as { body: string }).body).task_id;
  };
  const QueueUrl = queueUrls.normal;
  receive = async () => ({ Records: await receiveRecords(queues.eventSource, QueueUrl, 60) });
  const handle = (await worker.createWorker(types)) as (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;
  workOn = async (event) => {
    sent.length = 0;
    expect(await handle(event, context)).toEqual({ batchItemFailures: [] });
    for (const { receiptHandle } of event.Records) {
      await queues.eventSource.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receiptHandle }));
    }
  };
  settings = new DynamoFlowSettings(table.dynamoTable);
  lines = new DynamoWaitQueues(table.dynamoTable, clock.now);
  resumePause = (type) => {
    const log = createLog("control");
    const sending = new SqsQueues(queues.client, queueUrls, dlqUrls, log);
    const ports = { clock, log, queues: sending, lines, flowSettings: settings, newId: () => "check" };
    return resume(ports, { scope: "type", type }, "normal", "olga");
  };
  // The tenant is made known once in a process.
  await submitted("plain");
  await work();
});

afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of cleanups.reverse()) await close();
  rmSync(folder, { recursive: true });
});

/** Works on one batch. */
async function work(): Promise<void> {
  const event = await receive();
  expect(event.Records.length).toBeGreaterThan(0);
  await workOn(event);
}

beforeEach(async () => {
  held = { started: Promise.withResolvers(), ended: Promise.withResolvers() };
  // What the process reads now and then was read long ago.
  shifted.byMs += 3_600_000;
  await submitted("plain");
  await work();
  sent.length = 0;
});

afterEach(async () => {
  held.ended.resolve();
  // The messages and checks that the test left.
  for (let empty = 0; empty < 2; shifted.byMs += 62_000) {
    const event = await receive();
    empty = event.Records.length === 0 ? empty + 1 : 0;
    await workOn(event);
  }
});

/** Works on a batch whose handler waits. */
async function workUntilHeld(): Promise<{ end(): Promise<void> }> {
  const working = work();
  await Promise.race([held.started.promise, working.then(() => Promise.reject(new Error("no handler waits")))]);
  return {
    end: async () => {
      sent.length = 0;
      held.ended.resolve();
      await working;
    },
  };
}

/** The requests for a batch of one task that starts and ends: its claim, its end, and the hiding of its message. */
const plain = { ChangeMessageVisibilityBatch: 1, UpdateItem: 2 };

/** A part of the requests for a task that is put into a line of a limit: a look before and one after. */
const parked = { ChangeMessageVisibilityBatch: 1, Query: 2, PutItem: 1 };

/** The requests for the end of a task that began with a free place, while others wait: the next one gets its place, leaves its line, and has a backup message. */
const endOfFirst = { UpdateItem: 2, Query: 1, SendMessage: 1, DeleteItem: 1 };

/**
 * The requests for a task that got the place of the task before it: its claim, its end, the look at the line and the end
 * of its place.
 */
const taken = { UpdateItem: 3, Query: 2 };

/** The requests for a check that finds no task: two looks, and the end of the checks between them. */
const lastCheck = { GetItem: 2, Query: 2, UpdateItem: 1, DeleteItem: 1 };

/** The tasks of a pause are in sixteen partitions. */
const lastPauseCheck = { ...lastCheck, Query: 2 * 16 };

const together = (...all: Record<string, number>[]): Record<string, number> => {
  const sum: Record<string, number> = {};
  for (const [name, count] of all.flatMap((one) => Object.entries(one))) sum[name] = (sum[name] ?? 0) + count;
  return sum;
};

const expectConsistentReads = () => {
  const reads = [...sent.filter(({ command }) => /^(Get|Query)/.test(command)).map((one) => one.input), ...flowReads];
  expect(reads.filter(({ ConsistentRead }) => ConsistentRead !== true)).toEqual([]);
};

describe("the budget of a type with a limit of places", () => {
  test("a free place costs two updates, taken and given back, and two queries", async () => {
    await submitted("places");
    await work();
    expect(sentCounts()).toEqual({ ...plain, UpdateItem: 2 + 2, Query: 2 });
    expectConsistentReads();
  });

  test("a task that waits for a place costs a put, an update, a delete and a message more, and the first one a check", async () => {
    await submitted("places", { hold: true });
    const first = await workUntilHeld();
    await submitted("places");
    await work();
    // Refused: a place. Then the record, the task in its line, and the check with its two notes.
    expect(sentCounts()).toEqual({ ...parked, Query: 1, GetItem: 2, UpdateItem: 4, SendMessage: 1 });
    expectConsistentReads();
    await first.end();
    // The next one runs in the same invocation.
    expect(sentCounts()).toEqual(together(endOfFirst, taken));
  });

  test("a task that waited gives its place to the next one with one query, one update, a message and a delete", async () => {
    await submitted("places", { hold: true });
    const first = await workUntilHeld();
    for (let waiting = 0; waiting < 2; waiting++) {
      await submitted("places");
      await work();
    }
    await first.end();
    const handOver = { Query: 1, UpdateItem: 1, SendMessage: 1, DeleteItem: 1 };
    // And the claim and the end of the second.
    expect(sentCounts()).toEqual(together(endOfFirst, { UpdateItem: 2 }, handOver, taken));
    expectConsistentReads();
  });

  test("a task that waits behind another one plans no check, and asks for no place", async () => {
    await submitted("places", { hold: true });
    const first = await workUntilHeld();
    await submitted("places");
    await work();
    await submitted("places");
    await work();
    expect(sentCounts()).toEqual({ ...parked, Query: 1, GetItem: 2, UpdateItem: 1 });
    await first.end();
  });

  test("tasks of a batch that wait behind others look at the line together", async () => {
    await submitted("places", { hold: true });
    const first = await workUntilHeld();
    await submitted("places");
    await work();
    for (let waiting = 0; waiting < 8; waiting++) await submitted("places");
    await work();
    const { Query, GetItem, ...writes } = sentCounts();
    expect(writes).toEqual({ ChangeMessageVisibilityBatch: 1, PutItem: 8, UpdateItem: 8 });
    // The first task asks alone, and one more read serves all who ask meanwhile. Tasks do not join at the same moment.
    expect(Query).toBeLessThanOrEqual(2);
    expect(GetItem).toBeLessThanOrEqual(10);
    await first.end();
  });

  test("a check of an empty line costs an update, a delete and four reads, and is the last one", async () => {
    await submitted("places", { hold: true });
    const first = await workUntilHeld();
    await submitted("places");
    await work();
    await first.end();
    shifted.byMs += 62_000;
    await work();
    expect(sentCounts()).toEqual(lastCheck);
    expectConsistentReads();
    // The backup message of a task that has ended costs a look at its record.
    shifted.byMs += 62_000;
    await work();
    expect(sentCounts()).toEqual({ ChangeMessageVisibilityBatch: 1, GetItem: 1 });
    shifted.byMs += 900_000;
    expect((await receive()).Records).toEqual([]);
  });
});

describe("the budget of a large limit, whose tasks wait in shards", () => {
  test("a free place costs two updates and three reads, and a free start an update and a query", async () => {
    await submitted("many-places");
    await work();
    const { GetItem: gets = 0, Query: queries = 0, ...others } = sentCounts();
    expect(others).toEqual({ ...plain, UpdateItem: 2 + 2 });
    // A place of the line's own bucket costs a query in place of a get.
    expect(["2 gets, 1 queries", "1 gets, 2 queries"]).toContain(`${gets} gets, ${queries} queries`);
    await submitted("fast-rate");
    await work();
    expect(sentCounts()).toEqual({ ...plain, UpdateItem: 2 + 1, Query: 1 });
    expectConsistentReads();
  });
});

describe("the budget of a key whose place is taken for hours", () => {
  test("each look costs an update, a message and two reads, and is the next one's only sender", async () => {
    const line = "concurrency/places/acme/";
    const far = clock.now() + 86_400_000;
    await lines.acquirePermits(line, ["another"], far, 1);
    await submitted("places");
    await work();
    for (let looks = 0; looks < 3; looks++) {
      shifted.byMs += 242_000;
      await work();
    }
    expect(sentCounts()).toEqual({ GetItem: 1, Query: 1, UpdateItem: 1, SendMessage: 1 });
    expectConsistentReads();
    await lines.releasePermit(line, "another", far);
  });
});

describe("the budget of a poll", () => {
  test("a task's place costs a look at its line's first task every five seconds, and a count once a minute", async () => {
    await submitted("places", { hold: true });
    const first = await workUntilHeld();
    const ids: string[] = [];
    for (let waiting = 0; waiting < 3; waiting++) {
      ids.push(await submitted("places"));
      await work();
    }
    const last = ids.at(-1) ?? "";
    /** The limits of the queries of the line that a poll sends. */
    const looks = async () => {
      sent.length = 0;
      expect(await poll(last)).toMatchObject({ waiting_for: { kind: "concurrency", place: 3 } });
      const [get, ...rest] = sent;
      expect(get?.command).toBe("GetItemCommand");
      // A count asks the line's state if tasks wait in its shards.
      const [states, queries] = [0, 1].map((at) => rest.filter(({ command }) => /^Get/.test(command) === (at === 0)));
      for (const { input } of states ?? [])
        expect(input).toMatchObject({ ConsistentRead: false, Key: { sk: { S: "state" } } });
      expect(states?.length).toBe(queries?.filter(({ input: { Limit } }) => Limit === 101).length);
      for (const { command, input } of queries ?? []) {
        expect(command).toBe("QueryCommand");
        expect(input).toMatchObject({ ConsistentRead: false, ProjectionExpression: "sk" });
      }
      return (queries ?? []).map(({ input: { Limit } }) => Limit);
    };
    expect(await looks()).toEqual([101]);
    expect(await looks()).toEqual([]);
    for (let polls = 0; polls < 5; polls++) {
      shifted.byMs += 10_000;
      expect(await looks()).toEqual([1]);
      expect(await looks()).toEqual([]);
    }
    shifted.byMs += 10_000;
    expect(await looks()).toEqual([101]);
    await first.end();
  });
});

describe("the budget of a type with a rate", () => {
  test("a free start costs one update and one query", async () => {
    await submitted("rate");
    await work();
    expect(sentCounts()).toEqual({ ...plain, UpdateItem: 2 + 1, Query: 1 });
    expectConsistentReads();
  });

  test("a free start of a list of rates costs one get more, and a task that a full one refuses takes nothing", async () => {
    for (let starts = 0; starts < 2; starts++) {
      await submitted("listed-rates");
      await work();
      expect(sentCounts()).toEqual({ ...plain, UpdateItem: 2 + 1, Query: 1, GetItem: 1 });
      expectConsistentReads();
      shifted.byMs += 1_000;
    }
    await submitted("listed-rates");
    await work();
    // As of one rate, and a look at the line for its start. The updates are those of the record, the check and the list.
    expect(sentCounts()).toEqual({ ...parked, GetItem: 2, UpdateItem: 1 + 2, SendMessage: 1 });
  });

  test("a task that waits for its start asks for none that its process knows to be far, and its slow rate costs a check for each start", async () => {
    await submitted("rate");
    await work();
    await submitted("rate");
    await work();
    expect(sentCounts()).toEqual({ ...parked, GetItem: 1, UpdateItem: 1 + 2, SendMessage: 1 });
    expectConsistentReads();
    shifted.byMs += 9_000;
    await work();
    // The check gives the start away, sends the task, and plans another check, as the rate had no further start to give.
    expect(sentCounts()).toEqual({ GetItem: 1, Query: 1, UpdateItem: 3, SendMessage: 2, DeleteItem: 1 });
    shifted.byMs += 4_000;
    await work();
    // The task comes late, and moves its start; at its end it looks at the line, whose next start is far away.
    expect(sentCounts()).toEqual(together(plain, { UpdateItem: 1, GetItem: 1 }));
    // The next check comes shortly before the next start.
    shifted.byMs += 10_000;
    await work();
    expect(sentCounts()).toEqual(lastCheck);
  });
});

describe("the budget of a pause", () => {
  test("a paused task costs one update, one put and two gets, the first one a look at the line as well; resumed, its message once more and a delete", async () => {
    await settings.put({ kind: "pause", name: "pause/type/plain", since: "2027-01-01T00:00:00.000Z", by: "olga" });
    shifted.byMs += settingsAgeMs;
    await submitted("plain");
    await work();
    const look = { UpdateItem: 1, SendMessage: 1 };
    const one = { ChangeMessageVisibilityBatch: 1, UpdateItem: 1, PutItem: 1, GetItem: 2 };
    expect(sentCounts()).toEqual(together(one, look));
    expectConsistentReads();
    sent.length = 0;
    await resumePause("plain");
    // The pause that ends has a guard, which is read and put.
    expect(sentCounts()).toEqual({ SendMessage: 2, DeleteItem: 1, GetItem: 2, PutItem: 1, UpdateItem: 1 });
    shifted.byMs += 4_000;
    await work();
    // The task's wait is deleted; the line of a pause is in no list. Each look reads when the line was opened.
    // The resume's check comes before the noted one, and takes its part.
    expect(sentCounts()).toEqual(together(lastPauseCheck, { UpdateItem: 1, SendMessage: 1, GetItem: 2 }));
    expectConsistentReads();
    await work();
    expect(sentCounts()).toEqual(plain);
  });
});

describe("the budget of a message in a line", () => {
  /** Write units of the puts that were sent: in partitions of lines, and in all. */
  function putUnits() {
    const items = sent.filter(({ command }) => command === "PutItemCommand").map(({ input: { Item } }) => Item);
    const plain = (items as Record<string, { S?: string; N?: string }>[]).map((item) =>
      Object.fromEntries(Object.entries(item).map(([name, { S, N }]) => [name, S ?? Number(N)])),
    );
    const ofLines = plain.filter(({ pk }) => String(pk).startsWith("line#"));
    return { ofLines: writeUnits(...ofLines.map(itemSize)), all: writeUnits(...plain.map(itemSize)) };
  }
  const itemSize = (item: object) => bytesOf(item) - 3;

  test.each([
    { bytes: 200, ofLines: 1, all: 1, more: {} },
    { bytes: 2_048, ofLines: 1, all: 4, more: { put: { PutItem: 1 }, sent: { BatchGetItem: 1, DeleteItem: 1 } } },
    { bytes: 20_480, ofLines: 1, all: 22, more: { put: { PutItem: 1 }, sent: { BatchGetItem: 1, DeleteItem: 1 } } },
  ])("a task with an input of $bytes bytes writes $ofLines unit to its line, $all in all", async (of) => {
    await settings.put({ kind: "pause", name: "pause/type/plain", since: "2027-01-01T00:00:00.000Z", by: "olga" });
    shifted.byMs += settingsAgeMs;
    await submitted("plain");
    await work();
    await submitted("plain", { text: "x".repeat(of.bytes) });
    await work();
    const parkedOne = { ChangeMessageVisibilityBatch: 1, UpdateItem: 1, PutItem: 1, GetItem: 2 };
    expect(sentCounts()).toEqual(together(parkedOne, of.more.put ?? {}));
    expect(putUnits()).toEqual({ ofLines: of.ofLines, all: of.all });
    await resumePause("plain");
    shifted.byMs += 4_000;
    await work();
    // Both tasks go, and leave the line; the line leaves the list of lines later.
    const both = { UpdateItem: 1, GetItem: 2, SendMessage: 2, DeleteItem: 1 };
    expect(sentCounts()).toEqual(together(lastPauseCheck, both, of.more.sent ?? {}));
    const reads = sent.filter(({ command }) => command === "BatchGetItemCommand");
    expect(reads.every(({ input: { RequestItems } }) => JSON.stringify(RequestItems).includes("true"))).toBe(true);
    await work();
  });
});

describe("the budget of a breaker", () => {
  test("a success costs nothing, and a failure one update", async () => {
    await submitted("breaker");
    await work();
    expect(sentCounts()).toEqual(plain);
    await submitted("breaker", { fail: true });
    await work();
    // The retry is a message.
    expect(sentCounts()).toEqual({ ...plain, UpdateItem: 2 + 1, SendMessage: 1 });
  });
});
