import { expect, test } from "vitest";
import { z } from "zod";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import type { SubmitPorts } from "../../../../src/core/pipeline/submit/submit-ports.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { operator } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { unique } from "../../../support/parts/unique.ts";

const memoryPipeline = pipelineWith(unique);

/** Times of a call in DynamoDB, in milliseconds, half of it before its effect. */
const callMs = { read: 4, write: 6 };

/** Calls that a partition of DynamoDB takes in a second. It refuses others. */
const mostPerSecond = { read: 3_000, write: 1_000 };

/** A tenth of a second's calls may come at once, and a refused call is tried again after these times. */
const burstMs = 100;
const tryAgainMs = [25, 50, 100];

/** Functions of submit at the same time. Each knows by itself which keys are hot. */
const processes = 300;

/** A table whose partitions refuse what is too much, and what it took. */
function limitedTable(clock: { now(): number; after(ms: number, callback: () => void): unknown }) {
  const counts = { write: 0, read: 0, refused: 0 };
  const busyUntil = new Map<string, number>();
  const pass = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, () => resolve()));
  const isTaken = (kind: "read" | "write", partition: string): boolean => {
    const name = `${kind} ${partition}`;
    const until = Math.max(clock.now(), busyUntil.get(name) ?? 0) + 1_000 / mostPerSecond[kind];
    if (until > clock.now() + burstMs) return false;
    busyUntil.set(name, until);
    return true;
  };
  const take = async (kind: "read" | "write", partition: string) => {
    for (const ms of [...tryAgainMs, undefined]) {
      if (isTaken(kind, partition)) break;
      counts.refused++;
      if (ms === undefined) throw new PortUnavailable("the table", { cause: throttled });
      await pass(ms);
    }
    counts[kind]++;
  };
  /** The port over the table, whose items are in the partitions of their keys. */
  const port = <Port extends object>(own: Port, writing: readonly string[]): Port =>
    new Proxy(own, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== "function") return method;
        return async (key: { task_id?: string; unique_key?: string }, ...more: unknown[]) => {
          const kind = writing.includes(String(name)) ? "write" : "read";
          await take(kind, key.task_id ?? key.unique_key ?? "");
          await pass(callMs[kind] / 2);
          const answer = await Reflect.apply(method, target, [key, ...more]);
          await pass(callMs[kind] / 2);
          return answer;
        };
      },
    });
  return { counts, port };
}

const throttled = Object.assign(new Error("too many"), { name: "ProvisionedThroughputExceededException" });

/** Submits of one key at an even rate, by many processes. Figures of the last half of the time. */
async function costsAt({ perSecond, seconds }: { perSecond: number; seconds: number }) {
  const type = defineTask({
    name: "rows",
    input: z.int(),
    collect: { maxItems: 500, waitSeconds: 10 },
    handler: () => {},
  });
  const { clock, ports } = memoryPipeline([type]);
  const { counts, port } = limitedTable(clock);
  const all = Array.from(
    { length: processes },
    (): SubmitPorts => ({
      ...ports,
      records: port(ports.records, ["create", "change", "savePart"]),
      uniqueKeys: port(ports.uniqueKeys, ["take", "sent", "keep"]),
      lists: port(ports.lists, ["add", "close", "keep"]),
    }),
  );
  const lists = new Set<string>();
  let [sent, accepted, refused, open] = [0, 0, 0, 0];
  const send = async () => {
    const body = { type: "rows", input: sent, unique: { key: "k", mode: "collect" } };
    const at = all[sent++ % processes] as SubmitPorts;
    open++;
    try {
      const call = { identity: operator, body, correlationId: "c", idempotencyKey: undefined };
      const { record } = await submit(at, call);
      lists.add(record.task_id);
      accepted++;
    } catch {
      refused++;
    }
    open--;
  };
  const run = async (ms: number) => {
    for (let at = 0; at < ms; at++) {
      for (let of = 0; of < perSecond / 1_000; of++) void send();
      await clock.advance(1);
    }
  };
  await run(seconds * 500);
  const before = { ...counts, accepted, refused };
  lists.clear();
  await run(seconds * 500);
  const submits = accepted - before.accepted;
  return {
    writes: (counts.write - before.write) / submits,
    reads: (counts.read - before.read) / submits,
    lists: lists.size,
    perSecond: submits / (seconds / 2),
    refused: refused - before.refused,
    refusedBefore: before.refused,
    open,
  };
}

test("10,000 submits a second of one key are spread, and cost at most 1.2 writes each", async () => {
  const figures = await costsAt({ perSecond: 10_000, seconds: 4 });
  expect(figures.writes).toBeLessThan(1.2);
  // The page has these two.
  expect([figures.writes.toFixed(2), figures.reads.toFixed(1)]).toEqual(["1.06", "3.1"]);
  expect(figures.perSecond).toBeGreaterThan(9_500);
  expect(figures.refused).toBeLessThan(100);
});
