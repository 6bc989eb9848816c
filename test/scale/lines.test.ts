import { expect, test } from "vitest";
import { z } from "zod";
import { pipelineWith } from "../support/memory-pipeline.ts";
import { limits } from "../support/parts/limits.ts";
import { typeOf } from "../support/task-types.ts";
import { workerPool } from "../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ key: z.string(), ms: z.number().default(0) });

/** A pipeline with places, and the calls of its lines. */
function setUp(limit: number) {
  const ended: { key: string; at: number }[] = [];
  const type = typeOf(
    async ({ key, ms }: z.output<typeof input>) => {
      if (ms > 0) await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
      ended.push({ key, at: pipeline.clock.now() });
    },
    { input, concurrency: { key: ({ key }: { key: string }) => key, limit } },
  );
  const pipeline = memoryPipeline([type]);
  const calls: Record<string, number> = {};
  for (const name of [
    "add",
    "first",
    "remove",
    "state",
    "acquirePermits",
    "renewPermit",
    "releasePermit",
    "planCheck",
  ] as const) {
    const call = pipeline.lines[name].bind(pipeline.lines) as (...given: unknown[]) => unknown;
    (pipeline.lines as unknown as Record<string, unknown>)[name] = (...given: unknown[]) => {
      calls[name] = (calls[name] ?? 0) + 1;
      return call(...given);
    };
  }
  return { ...pipeline, pool: workerPool(pipeline, { batch: 10 }), ended, calls };
}

test("10,000 keys at once: each task starts immediately, with two writes for its place", async () => {
  const { accept, pool, ended, calls } = setUp(3);
  for (let n = 0; n < 10_000; n++) await accept({ input: { key: `k${n}` } });
  await pool.pass(1_000);
  expect(ended).toHaveLength(10_000);
  expect(calls).toEqual({ first: 20_000, acquirePermits: 10_000, releasePermit: 10_000 });
});

test("a key with 10,000 waiting tasks costs others nothing, and each of its tasks a bounded number of calls", async () => {
  const { accept, pool, ended, calls } = setUp(3);
  const crowd = 10_000;
  for (let n = 0; n < crowd; n++) {
    await accept({ input: { key: "crowd", ms: 100 } });
    // As many as have workers at the same time.
    if (n % 100 === 99) await pool.pass(1);
  }
  const others = { ...calls };
  for (let n = 0; n < 100; n++) await accept({ input: { key: `k${n}` } });
  await pool.pass(50);
  expect(ended.filter(({ key }) => key !== "crowd")).toHaveLength(100);
  expect((calls.acquirePermits ?? 0) - (others.acquirePermits ?? 0)).toBeLessThanOrEqual(100 + 10);
  await pool.pass((crowd / 3) * 100 + 60_000, 60_000);
  expect(ended).toHaveLength(crowd + 100);
  const each = (name: string) => (calls[name] ?? 0) / crowd;
  expect(each("add")).toBeLessThanOrEqual(1.001);
  expect(each("remove")).toBeLessThanOrEqual(1.001);
  // Places that become free at the same moment are asked for twice.
  expect(each("acquirePermits")).toBeLessThanOrEqual(1.5);
  expect(each("renewPermit")).toBeLessThanOrEqual(2.2);
  expect(each("releasePermit")).toBeLessThanOrEqual(1.02);
  expect(each("planCheck")).toBeLessThanOrEqual(0.05);
  expect(each("state")).toBeLessThanOrEqual(3.2);
  expect(each("first")).toBeLessThanOrEqual(5.2);
});
