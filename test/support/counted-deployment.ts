import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteMessageCommand, ListQueuesCommand } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import type { AppTrigger } from "../../src/core/schedules/trigger.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
// Loaded before the functions, which load the clock at the same time.
import "../../src/aws/process.ts";
import { toEnv } from "../../src/settings/config.ts";
import { prices } from "../../src/tools/plan/figures.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable, receiveRecords } from "../contract/emulators.ts";
import { sent } from "./counted-clients.ts";
import { clock, shifted } from "./shifted-clock.ts";

/*
 * The deployment's functions over the emulators, with clients that count, and the tables of costs in the pages. A test file that imports it
 * replaces the functions' clients, clock and watchdog: only test files can.
 */

type Answer = Record<string, unknown> & { task_id: string; result: unknown };

/** Tiers with a worker. Offload's own tasks run in the high one. */
type WorkedTier = "high" | "normal";

interface Deployment {
  call(method: string, path: string, body?: object, role?: string): Promise<Answer>;
  /** Works on a batch of the tier, and returns how many messages it had. */
  work(tier?: WorkedTier): Promise<number>;
  /** The trigger's event. */
  event(trigger: string, id: string): Promise<void>;
  close(): Promise<void>;
}

/** A deployment of the types, for the tests of a file. Each test starts when no message is left of the tests before. */
export function countedDeployment(types: readonly TaskType[], triggers: readonly AppTrigger[] = []) {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await started(types, triggers);
    // What happens once in a process is not counted.
    await submitted("plain");
    await work();
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await deployment.close();
  });
  const call: Deployment["call"] = (...args) => deployment.call(...args);
  const work: Deployment["work"] = (tier) => deployment.work(tier);
  const event: Deployment["event"] = (...args) => deployment.event(...args);
  const submitted = (type: string, more: object = {}, role?: string) =>
    call("POST", "/tasks", { type, input: {}, ...more }, role);
  /** The worker takes messages until none is left, also those that come later. */
  const drain = async () => {
    const workAll = async () => (await work("high")) + (await work());
    for (let empty = 0; empty < 2; shifted.byMs += 900_000) {
      empty++;
      while ((await workAll()) > 0) empty = 0;
    }
  };
  beforeEach(drain);
  return { call, work, event, submitted, drain };
}

async function started(types: readonly TaskType[], triggers: readonly AppTrigger[]): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "offload-counted-"));
  const [table, queues, scheduler] = [await emulatedTable(), await emulatedQueues(clock), await emulatedScheduler()];
  await queues.eventSource.send(new ListQueuesCommand({}));
  const fileOf = (name: string, of: unknown) => {
    writeFileSync(join(folder, name), JSON.stringify(of));
    return join(folder, name);
  };
  const settings = {
    ...{ table: table.table, bucket: "budget", waits: "10", cursorKey: "k".repeat(32) },
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
  const workerOf = (tier: WorkedTier) => {
    Object.assign(process.env, toEnv({ tier }));
    return worker.createWorker(types);
  };
  const context = { getRemainingTimeInMillis: () => 900_000 + shifted.byMs } as Context;
  const functionOf = (method: string, path: string) => {
    if (method === "GET" && path.startsWith("/tasks/")) return status.handler;
    return path === "/tasks" ? submit.handler : control.handler;
  };
  const workers = { high: await workerOf("high"), normal: await workerOf("normal") };
  return {
    call: async (method, path, body, role = "submitter") => {
      // Each call is at a moment of its own.
      shifted.byMs += 1;
      const request = requestOf(method, path, body, role);
      const answer = (await functionOf(method, path)(request as never, context as never)) as unknown as Answer;
      expect(answer, String(answer.body)).toMatchObject({ statusCode: expect.toSatisfy((code: number) => code < 300) });
      const text = String(answer.body);
      return (text.startsWith("{") ? JSON.parse(text) : {}) as Answer;
    },
    work: async (tier = "normal") => {
      const QueueUrl = queues.queueUrls[tier];
      const Records = await receiveRecords(queues.eventSource, QueueUrl, 60);
      if (Records.length === 0) return 0;
      const answer = (await workers[tier]({ Records } as never, context)) as SQSBatchResponse;
      const left = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      const done = Records.filter(({ messageId }) => !left.has(messageId));
      await Promise.all(
        done.map(({ receiptHandle: ReceiptHandle }) =>
          queues.eventSource.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })),
        ),
      );
      return Records.length;
    },
    event: (trigger, id) => fire.handler(eventOf(trigger, id), context as never) as unknown as Promise<void>,
    close: async () => {
      for (const { close } of [scheduler, queues, table]) await close();
      rmSync(folder, { recursive: true });
    },
  };
}

function requestOf(method: string, path: string, body: object | undefined, role: string) {
  const authorizer = { lambda: { tenant_id: "acme", principal: "sam", role } };
  const http = { method, path, protocol: "HTTP/1.1", sourceIp: "127.0.0.1", userAgent: "test" };
  return {
    ...{ version: "2.0", routeKey: "$default", rawPath: path, rawQueryString: "", isBase64Encoded: false },
    headers: { host: "localhost", "content-type": "application/json" },
    requestContext: { http, authorizer },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

function eventOf(trigger: string, id: string) {
  const detail = { tenant: "acme", id: 7 };
  const bus = { id, "detail-type": "Any", source: "shop", account: "111122223333", time: "2027-01-01T00:00:00Z" };
  return {
    ...{ kind: "event" as const, trigger },
    event: { version: "0", region: "eu-central-1", resources: [], ...bus, detail },
  };
}

/** Counts of a page's table. */
const columns = ["writes", "reads", "messages", "schedules"] as const;
const counts = [...columns, "newTasks"] as const;
export type Cost = Record<(typeof counts)[number], number>;

const eachOf = (count: (name: keyof Cost) => number): Cost =>
  Object.fromEntries(counts.map((name) => [name, count(name)])) as Cost;

export const none = eachOf(() => 0);

/** One call sends up to ten messages: how many it takes depends on the machine. */
const messagesSent = (): number =>
  sent
    .filter(({ command }) => command.startsWith("SendMessage"))
    .reduce((sum, { input }) => sum + ((input.Entries as unknown[] | undefined)?.length ?? 1), 0);

/** An act's requests, without those that hide messages. */
export async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  sent.length = 0;
  await act();
  const of = (pattern: RegExp) => sent.filter(({ command }) => pattern.test(command)).length;
  const requests = {
    writes: of(/^(Put|Update|Delete)Item/),
    reads: of(/^(GetItem|Query|BatchGetItem)/),
    messages: messagesSent(),
    schedules: of(/Schedule/),
  };
  const unknown = sent.filter(
    ({ command }) => !/Item|^Query|^(SendMessage|ChangeMessageVisibility)|Schedule/.test(command),
  );
  expect(unknown.map(({ command }) => command)).toEqual([]);
  const newTasks = sent.filter(({ input: { Item } }) => Object.hasOwn((Item as object | undefined) ?? {}, "tenant_pk"));
  return { ...requests, newTasks: newTasks.length };
}

export const minus = (a: Cost, b: Cost): Cost => eachOf((name) => a[name] - b[name]);

/** The share of each of these acts, with two decimals. */
export const share = (cost: Cost, acts: number): Cost => eachOf((name) => Number((cost[name] / acts).toFixed(2)));

/** Requests to SQS for a message that comes alone: send, receive, hold and delete. */
const requestsOfMessage = 4;

/**
 * The list price of a million of these acts in us-east-1: each write and read is one unit, and a new task is one more, for its entry in its
 * tenant's index.
 */
export const priceOf = ({ writes, newTasks, reads, messages }: Cost): string => {
  const { tableWrites, tableReads, queueRequests } = prices;
  const table = (writes + newTasks) * tableWrites.value + reads * tableReads.value;
  return `$${(table + messages * requestsOfMessage * queueRequests.value).toFixed(2)}`;
};

/**
 * The rows of a page's tables that have the columns, by their first cell, and a price where a table has it. A test takes its row out, so that
 * none is left at the end.
 */
export function rowsOf(page: string) {
  const cells = columns.map(() => "([\\d.]+)").join(" \\| ");
  const row = new RegExp(`^\\| (.+?) \\| ${cells} \\|(?: (\\$[\\d.]+) \\|)?$`, "gm");
  const rows = new Map(
    [...readFileSync(page, "utf8").matchAll(row)].map(([, name = "", ...found]) => [name, found] as const),
  );
  return {
    expectRow: (name: string, cost: Cost, price?: string) => {
      const counted = [...columns.map((column) => `${cost[column]}`), price];
      expect.soft(counted, name).toEqual(rows.get(name));
      rows.delete(name);
    },
    left: () => [...rows.keys()],
  };
}
