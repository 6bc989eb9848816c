import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteMessageCommand, ListQueuesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse } from "aws-lambda";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import type { Clock } from "../../src/core/ports/tasks.ts";
import { defineTrigger } from "../../src/core/schedules/define-trigger.ts";
import { defineTask } from "../../src/core/task/task.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
// Loaded before the functions, which load the clock at the same time.
import "../../src/aws/process.ts";
import { toEnv } from "../../src/settings/config.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable, receiveRecords } from "../contract/emulators.ts";
import { sent } from "../support/counted-clients.ts";

/** Time that a test adds. */
const shifted = vi.hoisted(() => ({ byMs: 0 }));

/** A clock that stands still but for timers and what a test adds. */
const clock: Clock = vi.hoisted(() => {
  const startMs = Date.now();
  const now = () => startMs + shifted.byMs;
  return {
    now,
    after: (delayMs, callback) => {
      const dueMs = now() + delayMs;
      const timer = setTimeout(() => {
        shifted.byMs += Math.max(0, dueMs - now());
        callback();
      }, delayMs);
      return () => clearTimeout(timer);
    },
  };
});

vi.mock(import("../../src/aws/clients.ts"), async (importOriginal) => {
  const { countedClients } = await import("../support/counted-clients.ts");
  return countedClients(await importOriginal());
});

vi.mock(import("../../src/aws/process.ts"), async (importOriginal) => ({
  ...(await importOriginal()),
  systemClock: clock,
}));

vi.mock(import("../../src/aws/watchdog.ts"), () => ({ threadWatchdog: () => ({ guard: () => () => {} }) }));

/** True: handlers fail, and their tasks are retried. */
let failing = false;

/** The link that a handler made. */
let link = "";

const input = z.strictObject({ key: z.string().default("k"), limit: z.int().default(1) });
const handler = () => (failing ? Promise.reject(new Error("down")) : Promise.resolve("done"));
const key = (one: { key: string }) => one.key;
const one = { input, handler };
const types = [
  defineTask({ name: "plain", ...one }),
  defineTask({ name: "strict", ...one, concurrency: { key, limit: 1, order: "strict" } }),
  defineTask({ name: "place", ...one, concurrency: { key, limit: 1 } }),
  defineTask({ name: "place-by-input", ...one, concurrency: { key, limit: ({ limit }) => limit } }),
  defineTask({ name: "rate", ...one, rateLimit: { limit: 5, perSeconds: 1 } }),
  defineTask({
    name: "rates",
    ...one,
    rateLimit: [
      { limit: 5, perSeconds: 1 },
      { limit: 2_000, perSeconds: 86_400 },
    ],
  }),
  defineTask({ name: "breaker", ...one, breaker: { failures: 3, coolDownSeconds: 60 } }),
  defineTask({ name: "breaker-by-key", ...one, breaker: { failures: 3, coolDownSeconds: 60, key } }),
  defineTask({
    name: "list",
    input: z.strictObject({}),
    collect: { maxItems: 500, waitSeconds: 10 },
    handler: () => {},
  }),
  defineTask({ name: "waits", input, handler: (_, task) => task.waitFor("go", { timeoutSeconds: 600 }) }),
  defineTask({
    name: "links",
    input,
    handler: async (_, task) => {
      link = await task.signalUrl("go", { expiresInSeconds: 600 });
      return task.waitFor("go", { timeoutSeconds: 600 });
    },
  }),
];
const common = { pattern: { source: ["shop"] }, tenantId: "$.detail.tenant" };
const triggers = [
  defineTrigger({ ...common, name: "gone", cancel: { type: "plain", key: "shop-<$.detail.id>" } }),
  defineTrigger({ ...common, name: "paid", signal: { type: "waits", key: "shop-<$.detail.id>", name: "go" } }),
];

const folder = mkdtempSync(join(tmpdir(), "offload-key-budget-"));
const cleanups: (() => Promise<void>)[] = [];
type Answer = Record<string, unknown> & { task_id: string; result: unknown };
let call: (method: string, path: string, body?: object, role?: string) => Promise<Answer>;
let work: () => Promise<number>;
let event: (trigger: string, id: string) => Promise<void>;

beforeAll(async () => {
  const [table, queues, scheduler] = [await emulatedTable(), await emulatedQueues(clock), await emulatedScheduler()];
  cleanups.push(table.close, queues.close, scheduler.close);
  await queues.eventSource.send(new ListQueuesCommand({}));
  const fileOf = (name: string, of: unknown) => {
    writeFileSync(join(folder, name), JSON.stringify(of));
    return join(folder, name);
  };
  const settings = {
    ...{ table: table.table, bucket: "budget", tier: "normal", waits: "10", cursorKey: "k".repeat(32) },
    catalogFile: fileOf("catalog.json", toCatalog(types)),
    schedulesFile: fileOf("schedules.json", []),
    triggersFile: fileOf("triggers.json", triggers),
    firingsUrl: queues.queueUrls.low,
    firingsDlqUrl: queues.dlqUrls.low,
    webhookKey: Buffer.alloc(32, 7).toString("base64"),
    apiUrl: "https://api.example.com",
    queueUrls: queues.queueUrls,
    dlqUrls: queues.dlqUrls,
    ...scheduler.config,
  };
  Object.assign(process.env, toEnv(settings));
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, "write").mockImplementation(() => true);
  const [submit, worker, status, control, fire] = await Promise.all([
    import("../../lambdas/submit.ts"),
    import("../../lambdas/worker.ts"),
    import("../../lambdas/status.ts"),
    import("../../lambdas/control.ts"),
    import("../../lambdas/fire.ts"),
  ]);
  const context = { getRemainingTimeInMillis: () => 900_000 + shifted.byMs } as Context;
  const functionOf = (method: string, path: string) => {
    if (method === "GET" && path.startsWith("/tasks/")) return status.handler;
    return path === "/tasks" ? submit.handler : control.handler;
  };
  call = async (method, path, body, role = "submitter") => {
    // Each call is at a moment of its own.
    shifted.byMs += 1;
    const authorizer = { lambda: { tenant_id: "acme", principal: "sam", role } };
    const http = { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "test" };
    const request = {
      ...{ version: "2.0", routeKey: "$default", rawPath: path, rawQueryString: "", isBase64Encoded: false },
      headers: { host: "localhost", "content-type": "application/json" },
      requestContext: { http, authorizer },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const answer = (await functionOf(method, path)(request as never, context as never)) as unknown as Answer;
    expect(answer, String(answer.body)).toMatchObject({ statusCode: expect.toSatisfy((code: number) => code < 300) });
    const text = String(answer.body);
    return (text.startsWith("{") ? JSON.parse(text) : {}) as Answer;
  };
  const handle = await worker.createWorker(types);
  work = async () => {
    const Records = await receiveRecords(queues.eventSource, queues.queueUrls.normal, 60);
    const answer = (await handle({ Records } as never, context)) as SQSBatchResponse;
    const left = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const done = Records.filter(({ messageId }) => !left.has(messageId));
    await deleted(queues.eventSource, queues.queueUrls.normal, done);
    return Records.length;
  };
  event = async (trigger, id) => {
    const detail = { tenant: "acme", id: 7 };
    const bus = { id, "detail-type": "Any", source: "shop", account: "111122223333", time: "2027-01-01T00:00:00Z" };
    const payload = {
      kind: "event",
      trigger,
      event: { version: "0", region: "eu-central-1", resources: [], ...bus, detail },
    };
    await fire.handler(payload, context as never);
  };
  // What happens once in a process is not counted.
  await call("POST", "/tasks", { type: "plain", input: {} });
  await work();
});

const deleted = (client: SQSClient, QueueUrl: string, records: readonly { receiptHandle: string }[]) =>
  Promise.all(
    records.map(({ receiptHandle }) =>
      client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receiptHandle })),
    ),
  );

afterAll(async () => {
  vi.restoreAllMocks();
  for (const close of cleanups.reverse()) await close();
  rmSync(folder, { recursive: true });
});

/** Works until no message is left, also those that come later. */
async function drain(): Promise<void> {
  for (let empty = 0; empty < 2; shifted.byMs += 900_000) empty = (await work()) === 0 ? empty + 1 : 0;
}

beforeEach(drain);
afterEach(() => {
  failing = false;
});

const columns = ["writes", "reads", "messages", "schedules"] as const;
type Cost = Record<(typeof columns)[number], number>;

/** The requests of an act, without those that hide messages. */
async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  sent.length = 0;
  await act();
  const of = (pattern: RegExp) => sent.filter(({ command }) => pattern.test(command)).length;
  const cost = {
    writes: of(/^(Put|Update|Delete)Item/),
    reads: of(/^(GetItem|Query|BatchGetItem)/),
    messages: of(/^SendMessageCommand/),
    schedules: of(/Schedule/),
  };
  const known = columns.reduce((sum, name) => sum + cost[name], of(/^ChangeMessageVisibility/));
  expect(known, JSON.stringify(sent.map(({ command }) => command))).toBe(sent.length);
  return cost;
}

const minus = (a: Cost, b: Cost): Cost =>
  Object.fromEntries(columns.map((name) => [name, a[name] - b[name]])) as unknown as Cost;

const submitted = (type: string, more: object = {}, role?: string) =>
  call("POST", "/tasks", { type, input: {}, ...more }, role);

/** Submits a task of the type, and works until it has ended. */
const whole = (type: string) =>
  costOf(async () => {
    await submitted(type);
    await work();
  });

/** The rows of the page's tables of costs, by their first cell. A test takes its row out: none is left at the end. */
const cells = columns.map(() => "([\\d.]+)").join(" \\| ");
const rows = new Map(
  [...readFileSync("docs/keys.md", "utf8").matchAll(new RegExp(`^\\| (.+) \\| ${cells} \\|$`, "gm"))].map(
    ([, name = "", ...counts]) => [name, Object.fromEntries(columns.map((column, at) => [column, Number(counts[at])]))],
  ),
);

function expectRow(name: string, cost: Cost): void {
  expect(cost, name).toEqual(rows.get(name));
  rows.delete(name);
}

const soon = { delay_seconds: 600 };

describe("the table of calls has the requests of", () => {
  const move = (id: string, delay_seconds: number, role?: string) =>
    call("POST", `/tasks/${id}/reschedule`, { delay_seconds }, role);
  const unique = (mode: string, more: object = {}) => submitted("plain", { unique: { key: "k", mode }, ...more });

  /** Calls on the task of a key that waits for its start in ten minutes. */
  const calls: Record<string, (id: string) => Promise<unknown>> = {
    "status by id": (id) => call("GET", `/tasks/${id}`),
    "status by `~type:key`": () => call("GET", "/tasks/~plain:k"),
    "`reschedule` to an earlier time": (id) => move(id, 300),
    "`reschedule` to a later time": (id) => move(id, 7_200),
    "submit with `replace` and another time": () => unique("replace", { delay_seconds: 300 }),
  };

  test.each(Object.entries(calls))("%s", async (name, act) => {
    const { task_id } = await unique("existing", soon);
    expectRow(name, await costOf(() => act(task_id)));
  });

  test("an operator's call: two writes more, for the audit", async () => {
    const { task_id } = await unique("existing", soon);
    const own = await costOf(() => move(task_id, 400));
    expect(minus(await costOf(() => move(task_id, 200, "operator")), own)).toEqual({ ...none, writes: 2 });
  });

  test("events that act on a key", async () => {
    await submitted("plain", { unique: { key: "shop-7" }, ...soon }, "operator");
    expectRow("event that cancels the task of a key", await costOf(() => event("gone", "e1")));
    await submitted("waits", { unique: { key: "shop-7" } }, "operator");
    await work();
    expectRow("event that signals the task of a key", await costOf(() => event("paid", "e2")));
  });

  test("links that signal", async () => {
    const [without, made] = [await whole("waits"), await whole("links")];
    expectRow("`task.signalUrl`", minus(made, without));
    const path = new URL(link).pathname;
    expect(await costOf(() => call("GET", path))).toEqual(none);
    expectRow("POST of its link", await costOf(() => call("POST", path, {})));
  });

  test("PUT of a schedule", async () => {
    const put = (cron: string) => {
      const schedule = { name: "night", task: { type: "plain", input: {} }, cron };
      return costOf(() => call("PUT", "/schedules/~night", schedule, "operator"));
    };
    expectRow("`PUT /schedules/~name`, a new one", await put("0 3 * * *"));
    expectRow("`PUT /schedules/~name`, a change", await put("0 4 * * *"));
  });
});

const none: Cost = { writes: 0, reads: 0, messages: 0, schedules: 0 };

describe("the table of tasks has the requests of", () => {
  test("a task without keys and limits", async () => {
    expectRow("none of these: submit, attempt and end", await whole("plain"));
  });

  test.each([
    ["`concurrency` with a `limit` by the input", "place-by-input"],
    ['`concurrency` with `order: "strict"`', "strict"],
    ["`rateLimit`, one", "rate"],
    ["`rateLimit`, a list of two", "rates"],
    ["`breaker: { key }`", "breaker-by-key"],
  ])("%s", async (name, type) => {
    const plain = await whole("plain");
    // The first task of a process and a key reads and notes more, and so does one a minute later.
    await whole(type);
    shifted.byMs += 10_000;
    expectRow(name, minus(await whole(type), plain));
  });

  test("a failure with a breaker, and a retry in strict order", async () => {
    failing = true;
    const plain = await whole("plain");
    expectRow("`breaker: { key }`, a failure", minus(await whole("breaker-by-key"), plain));
    failing = false;
    await drain();
    const retryOf = async (type: string) => {
      failing = true;
      await whole(type);
      shifted.byMs += 600_000;
      const retry = await costOf(work);
      failing = false;
      await drain();
      return retry;
    };
    expectRow('`order: "strict"`, a retry that fails', minus(await retryOf("strict"), await retryOf("plain")));
  });

  test("a key in the mode restart", async () => {
    const plain = await whole("plain");
    const restart = () => submitted("plain", { unique: { key: "r", mode: "restart" } });
    const cost = await costOf(async () => {
      await restart();
      await work();
    });
    expectRow("`restart`, no task has the key", minus(cost, plain));
    await submitted("plain", { unique: { key: "s" }, ...soon });
    const waiting = await costOf(async () => {
      await submitted("plain", { unique: { key: "s", mode: "restart" } });
      await work();
      await work();
    });
    expectRow("`restart` of a task that waits", minus(waiting, plain));
  });

  test.each([10, 100])("a list of %i inputs, each", async (inputs) => {
    const cost = await costOf(async () => {
      for (let count = 0; count < inputs; count++) await submitted("list", { unique: { key: "c", mode: "collect" } });
      shifted.byMs += 10_000;
      await work();
    });
    const each = Object.fromEntries(columns.map((name) => [name, Number((cost[name] / inputs).toFixed(2))])) as Cost;
    expectRow(`\`collect\`, an input of a list of ${inputs}`, each);
  });
});

test("no other row is in the tables", () => {
  expect([...rows.keys()]).toEqual([]);
});
