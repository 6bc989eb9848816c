import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteMessageCommand, ListQueuesCommand } from "@aws-sdk/client-sqs";
import type { Context, SQSBatchResponse } from "aws-lambda";
import { afterAll, beforeAll, beforeEach, expect, vi } from "vitest";
import type { Tier } from "../../src/core/model/tier.ts";
import type { AppTrigger } from "../../src/core/schedules/trigger.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { toCatalog } from "../../src/core/task/to-catalog.ts";
// Loaded before the functions, which load the clock at the same time.
import "../../src/aws/process.ts";
import { toEnv } from "../../src/settings/config.ts";
import { emulatedQueues, emulatedScheduler, emulatedTable, receiveRecords } from "../contract/emulators.ts";
import { sent } from "./counted-clients.ts";
import { clock, shifted } from "./shifted-clock.ts";

/*
 * The deployment's functions over the emulators, with clients that count, and the tables of costs in the pages. A test file that imports it
 * replaces the functions' clients, clock and watchdog: only test files can.
 */

type Answer = Record<string, unknown> & { task_id: string; result: unknown };

interface Deployment {
  call(method: string, path: string, body?: object, role?: string): Promise<Answer>;
  /** Works on a batch of the tier, and returns how many messages it had. */
  work(tier?: Tier): Promise<number>;
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
  /** Works until no message is left, also those that come later. */
  const drain = async () => {
    for (let empty = 0; empty < 2; shifted.byMs += 900_000) {
      const worked = (await work("high")) + (await work());
      empty = worked === 0 ? empty + 1 : 0;
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
  const handle = await worker.createWorker(types);
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
      const answer = (await handle({ Records } as never, context)) as SQSBatchResponse;
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

export const columns = ["writes", "reads", "messages", "schedules"] as const;
export type Cost = Record<(typeof columns)[number], number>;

export const none: Cost = { writes: 0, reads: 0, messages: 0, schedules: 0 };

/** The requests of an act, without those that hide messages. */
export async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  sent.length = 0;
  await act();
  const of = (pattern: RegExp) => sent.filter(({ command }) => pattern.test(command)).length;
  const cost = {
    writes: of(/^(Put|Update|Delete)Item/),
    reads: of(/^(GetItem|Query|BatchGetItem)/),
    messages: of(/^SendMessage(Batch)?Command/),
    schedules: of(/Schedule/),
  };
  const known = columns.reduce((sum, name) => sum + cost[name], of(/^ChangeMessageVisibility/));
  expect(known, JSON.stringify(sent.map(({ command }) => command))).toBe(sent.length);
  return cost;
}

const eachOf = (count: (name: keyof Cost) => number): Cost =>
  Object.fromEntries(columns.map((name) => [name, count(name)])) as Cost;

export const minus = (a: Cost, b: Cost): Cost => eachOf((name) => a[name] - b[name]);

/** The share of each of these acts, with two decimals. */
export const share = (cost: Cost, acts: number): Cost => eachOf((name) => Number((cost[name] / acts).toFixed(2)));

/**
 * The rows of a page's tables that have the columns, by their first cell. A test takes its row out, so that none is left at the end. Cells
 * after the counts are the row's `more`.
 */
export function rowsOf(page: string) {
  const cells = columns.map(() => "(-?[\\d.]+)").join(" \\| ");
  const rows = new Map(
    [...readFileSync(page, "utf8").matchAll(new RegExp(`^\\| (.+?) \\| ${cells} \\|(?: (.+) \\|)?$`, "gm"))].map(
      ([, name = "", ...counts]) =>
        [
          name,
          { cost: eachOf((column) => Number(counts[columns.indexOf(column)])), more: counts[columns.length] },
        ] as const,
    ),
  );
  return {
    expectRow: (name: string, cost: Cost, more?: string) => {
      expect({ cost, more }, name).toEqual(rows.get(name));
      rows.delete(name);
    },
    left: () => [...rows.keys()],
  };
}
