import { expect, test } from "vitest";
import { z } from "zod";
import { clearKey, limitKey } from "../../../../src/core/extras/limits/manage-flow.ts";
import { knownTypesOf } from "../../../../src/core/task/catalog.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ key: z.string(), ms: z.number() });
const key = (of: z.output<typeof input>) => of.key;
const olga = { tenantId: "acme", isAdmin: false, principal: "olga" };

interface Run {
  key: string;
  began: number;
  ended?: number;
}

/** A pipeline with one type, and the runs of its handler. */
function setUp(more: Partial<TaskType>) {
  const runs: Run[] = [];
  const handler = async ({ key, ms }: z.output<typeof input>) => {
    const run: Run = { key, began: pipeline.clock.now() };
    runs.push(run);
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
    run.ended = pipeline.clock.now();
  };
  const type = typeOf(handler, { input, timeoutSeconds: 840, ...more });
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const submitMany = async (count: number, key: string, ms: number) => {
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { key, ms } });
      await pipeline.clock.advance(1);
    }
  };
  const entry = knownTypesOf([type]).get(type.name) ?? expect.fail();
  const set = (key: string, limit: number, seconds?: number) =>
    limitKey(pipeline.ports, entry, key, { limit, expires_in_seconds: seconds }, olga);
  const clear = (key: string) => clearKey(pipeline.ports, entry, key, olga);
  const running = (of: string) => runs.filter(({ key, ended }) => key === of && ended === undefined).length;
  const startsOf = (of: string) => runs.filter((run) => run.key === of).map(({ began }) => began);
  return { ...pipeline, pool, runs, submitMany, set, clear, running, startsOf };
}

test("a key has other places than the others, within seconds, until they are taken away", async () => {
  const { submitMany, pool, running, set, clear, runs } = setUp({ concurrency: { key, limit: 1 } });
  for (const one of ["a", "b"]) await submitMany(8, one, 20_000);
  await pool.pass(2_000);
  await set("a", 4);
  await pool.pass(5_000);
  expect([running("a"), running("b")]).toEqual([4, 1]);
  await clear("a");
  await pool.pass(30_000);
  expect([running("a"), running("b")]).toEqual([1, 1]);
  await pool.pass(200_000);
  expect(runs).toHaveLength(16);
});

test("a key with fewer places lets no further task start until enough have ended", async () => {
  const { submitMany, pool, running, set, runs } = setUp({ concurrency: { key, limit: 4 } });
  await submitMany(12, "a", 20_000);
  await pool.pass(2_000);
  expect(running("a")).toBe(4);
  await set("a", 1);
  await pool.pass(25_000);
  expect(running("a")).toBe(1);
  await pool.pass(220_000);
  expect(runs).toHaveLength(12);
});

test("at its end the key's waiting tasks start, although no task of the line ends for long", async () => {
  const { submitMany, pool, running, set } = setUp({ concurrency: { key, limit: 3 } });
  await set("a", 1, 600);
  await pool.pass(3_000);
  await submitMany(3, "a", 800_000);
  await pool.pass(590_000, 1_000);
  expect(running("a")).toBe(1);
  await pool.pass(10_000, 500);
  expect(running("a")).toBe(3);
});

test("an end in the past counts as no limit", async () => {
  const { submitMany, pool, running, flowSettings, clock } = setUp({ concurrency: { key, limit: 2 } });
  const [name, untilMs] = ["limits/concurrency/test.task/acme/a", clock.now() - 1];
  await flowSettings.put({ kind: "limits", name, concurrency: 1, untilMs });
  await submitMany(3, "a", 20_000);
  await pool.pass(3_000);
  expect(running("a")).toBe(2);
});

test("a key has another rate than the others, until its end", async () => {
  const { submitMany, pool, startsOf, set } = setUp({ rateLimit: { key, limit: 1, perSeconds: 1 } });
  await set("a", 5, 23);
  await pool.pass(3_000);
  for (const one of ["a", "b"]) await submitMany(160, one, 1);
  await pool.pass(10_000, 50);
  expect(startsOf("a").length).toBeGreaterThan(40);
  expect(startsOf("b").length).toBeLessThanOrEqual(11);
  await pool.pass(15_000, 50);
  const before = startsOf("a").length;
  await pool.pass(10_000, 50);
  expect(startsOf("a").length - before).toBeLessThanOrEqual(10);
  expect(startsOf("a").length - before).toBeGreaterThan(7);
});
