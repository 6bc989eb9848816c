import { expect, test, vi } from "vitest";
import { z } from "zod";
import { changeLimits } from "../../../../src/core/extras/limits/manage-flow.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

function setUp(more: Partial<TaskType> = {}) {
  const starts: { n: number; at: number }[] = [];
  const type = typeOf(
    ({ n }: { n: number }) => {
      starts.push({ n, at: pipeline.clock.now() });
    },
    { input: z.object({ n: z.number() }), rateLimit: { limit: 5, perSeconds: 1 }, ...more },
  );
  const pipeline = memoryPipeline([type]);
  const submitMany = async (count: number, from = 0) => {
    for (let n = from; n < from + count; n++) {
      await pipeline.accept({ input: { n } });
      await pipeline.clock.advance(1);
    }
  };
  return { ...pipeline, pipeline, pool: workerPool(pipeline), starts, submitMany, type };
}

/** The most starts in any interval of this length that begins with a start. */
const mostWithin = (starts: readonly { at: number }[], ms: number): number =>
  Math.max(...starts.map(({ at }) => starts.filter((other) => other.at >= at && other.at < at + ms).length));

test("25 tasks at 5 per second start 200 ms apart, in order of submission", async () => {
  const { submitMany, pool, starts, records } = setUp();
  await submitMany(25);
  await pool.pass(10_000, 100);
  expect(starts.map(({ n }) => n)).toEqual(Array.from({ length: 25 }, (_, n) => n));
  expect(mostWithin(starts, 1_000)).toBe(5);
  const [first, last] = [starts[0]?.at ?? 0, starts.at(-1)?.at ?? 0];
  // Each start has its own time; the first may be late by the time of its way.
  expect(last - first).toBeGreaterThanOrEqual(24 * 200 - 50);
  expect(last - first).toBeLessThanOrEqual(24 * 200 + 300);
  expect(records.all().every(({ status }) => status === "completed")).toBe(true);
});

test("a rate that is changed at run time holds within seconds", async () => {
  const { submitMany, pool, starts, ports } = setUp();
  await submitMany(100);
  await pool.pass(3_000, 100);
  expect(starts.length).toBeLessThanOrEqual(16);
  const type = {
    name: "test.task",
    priority: "normal" as const,
  };
  await changeLimits(ports, type, { rate: { limit: 20, per_seconds: 1 } }, "olga");
  await pool.pass(12_000, 100);
  expect(starts).toHaveLength(100);
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(21);
});

test("a slow rate: one start in ten minutes, over hours", async () => {
  const { submitMany, pool, starts, clock } = setUp({ rateLimit: { limit: 1, perSeconds: 600 } });
  await submitMany(6);
  const begin = clock.now();
  await pool.pass(4_000_000);
  expect(starts.map(({ at }) => Math.round((at - begin) / 60_000))).toEqual([0, 10, 20, 30, 40, 50]);
});

test("a task of a slow rate whose message comes late starts at once, and the next one as much later", async () => {
  const { submitMany, pool, starts, clock, queues } = setUp({ rateLimit: { limit: 1, perSeconds: 600 } });
  const put = queues.put.bind(queues);
  let late = 0;
  queues.put = (tier, body, options = {}) => {
    const lateSeconds = options.ticket?.slotMs !== undefined && late++ === 0 ? 30 : 0;
    put(tier, body, { ...options, delaySeconds: (options.delaySeconds ?? 0) + lateSeconds });
  };
  await submitMany(3);
  const begin = clock.now();
  await pool.pass(2_000_000);
  expect(starts.map(({ at }) => Math.round((at - begin) / 10_000))).toEqual([0, 63, 123]);
});

test("a task that comes now and then starts immediately, and nothing waits for it", async () => {
  const { submitMany, pool, starts, queues, nextEvent } = setUp();
  await submitMany(1);
  await pool.pass(10_000);
  await submitMany(1, 1);
  await pool.pass(10_000);
  expect(starts).toHaveLength(2);
  expect(queues.waiting("normal")).toEqual([]);
  expect(nextEvent()).toBeUndefined();
});

test.each([1, 3])("the check of a line comes before the slow write that notes it, %i times", async (times) => {
  const { submitMany, pool, starts, lines, clock, queues } = setUp({ rateLimit: { limit: 1, perSeconds: 5 } });
  const planCheck = lines.planCheck.bind(lines);
  let slow = 0;
  lines.planCheck = async (line, check, seen) => {
    const waitMs = check.atMs - clock.now() + 2_000;
    if (seen !== undefined && slow++ < times) await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    return planCheck(line, check, seen);
  };
  await submitMany(4);
  await pool.pass(240_000, 500);
  expect(starts.map(({ n }) => n)).toEqual([0, 1, 2, 3]);
  expect(queues.waiting("normal")).toEqual([]);
});

test("nothing is left when a line has ended: no check is sent any more", async () => {
  const { submitMany, pool, lines, queues } = setUp();
  await submitMany(30);
  await pool.pass(60_000);
  expect(queues.waiting("normal")).toEqual([]);
  expect(await lines.list("", 10)).toEqual([]);
});

test("workers killed at random: no second has more than its rate and one start again for each death", async () => {
  const { submitMany, pool, starts, records } = setUp({ maxAttempts: 20, retry: { waitsSeconds: [1] } });
  await submitMany(50);
  for (let step = 0; step < 200; step++) {
    await pool.pass(100, 100);
    if (step % 20 === 7) pool.kill((count) => count - 1);
  }
  await pool.pass(400_000);
  expect(records.all().map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => "completed"));
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(6);
});

test("a rate and places together: both hold", async () => {
  let running = 0;
  let most = 0;
  const { submitMany, pool, starts, pipeline } = setUp({ concurrency: { limit: 2 } });
  const [type] = pipeline.registry.values();
  (pipeline.registry as Map<string, TaskType>).set("test.task", {
    ...(type as TaskType),
    handler: async ({ n }: { n: number }) => {
      starts.push({ n, at: pipeline.clock.now() });
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => pipeline.clock.after(700, resolve));
      running -= 1;
    },
  });
  await submitMany(20);
  await pool.pass(60_000, 100);
  expect(starts).toHaveLength(20);
  expect(most).toBe(2);
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(5);
});

test("a task keeps its place while it waits for another start: it does not go from one line to the other and back", async () => {
  const rateLimit = { limit: 1, perSeconds: 3 };
  const { submitMany, pool, starts, pipeline, records } = setUp({ concurrency: { limit: 1 }, rateLimit });
  const [type] = pipeline.registry.values();
  (pipeline.registry as Map<string, TaskType>).set("test.task", {
    ...(type as TaskType),
    handler: async ({ n }: { n: number }) => {
      starts.push({ n, at: pipeline.clock.now() });
      await new Promise<void>((resolve) => pipeline.clock.after(8_000, resolve));
    },
  });
  const parks = new Map<string, number>();
  const change = records.change.bind(records);
  vi.spyOn(records, "change").mockImplementation(async (key, given) => {
    const changed = await change(key, given);
    if (changed.done && given.set?.line !== undefined) parks.set(key.task_id, (parks.get(key.task_id) ?? 0) + 1);
    return changed;
  });
  await submitMany(12);
  await pool.pass(240_000, 200);
  expect(starts.map(({ n }) => n)).toEqual(Array.from({ length: 12 }, (_, n) => n));
  expect(mostWithin(starts, 3_000)).toBe(1);
  // For a start, for a place, and for another start.
  expect(Math.max(...parks.values())).toBeLessThanOrEqual(3);
});

test("a message of an earlier start waits for it in its worker, but not for long", async () => {
  const { submitMany, pool, starts, clock } = setUp({ rateLimit: { limit: 1, perSeconds: 1 } });
  await submitMany(3);
  const begin = clock.now();
  await pool.pass(5_000, 50);
  expect(starts.map(({ at }) => at - begin >= -3 && (at - begin) % 1_050 < 100)).toEqual([true, true, true]);
});

test("tasks that come late because no worker was free start at the rate, each once", async () => {
  const { submitMany, pool, starts, clock, records } = setUp();
  await submitMany(40);
  await pool.pass(1_000, 100);
  // Starts pass while nobody works.
  await clock.advance(3_000);
  await pool.pass(30_000, 100);
  expect(starts.map(({ n }) => n).sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n));
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(6);
  expect(records.all().every(({ attempts }) => attempts === 1)).toBe(true);
});

test("tasks that waited for a place start at the rate, although many places are free at the same time", async () => {
  const { submitMany, pool, starts, pipeline, lines } = setUp({ concurrency: { limit: 15 }, timeoutSeconds: 60 });
  const [type] = pipeline.registry.values();
  (pipeline.registry as Map<string, TaskType>).set("test.task", {
    ...(type as TaskType),
    handler: async ({ n }: { n: number }) => {
      starts.push({ n, at: pipeline.clock.now() });
      // All of the first ones end at the same time.
      const endsAt = Math.max(pipeline.clock.now() + 100, (starts[0]?.at ?? 0) + 12_000);
      await new Promise<void>((resolve) => pipeline.clock.after(endsAt - pipeline.clock.now(), resolve));
    },
  });
  await submitMany(60);
  await pool.pass(120_000, 100);
  expect(starts).toHaveLength(60);
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(6);
  expect((await lines.state("concurrency/test.task/acme/")).permits.size).toBe(0);
});

test("a slow rate that is raised applies within seconds, not after its last interval", async () => {
  const { submitMany, pool, starts, ports } = setUp({ rateLimit: { limit: 1, perSeconds: 3_600 } });
  await submitMany(20);
  await pool.pass(10_000);
  expect(starts).toHaveLength(1);
  const type = {
    name: "test.task",
    priority: "normal" as const,
    rate_limit: { limit: 1, per_seconds: 3_600, keyed: false, scope: "tenant" as const },
  };
  await changeLimits(ports, type, { rate: { limit: 5, per_seconds: 1 } }, "olga");
  await pool.pass(14_000, 100);
  expect(starts).toHaveLength(20);
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(6);
});

test("a type without limits gets a rate that all tenants share, and starts freely again when it is taken away", async () => {
  const { pipeline, pool, starts, ports, clock } = setUp({ rateLimit: undefined });
  const type = { name: "test.task", priority: "normal" as const };
  await changeLimits(ports, type, { rate: { limit: 5, per_seconds: 1 } }, "olga");
  await clock.advance(3_000);
  const globex = { tenantId: "globex", principal: "gina", role: "operator" } as const;
  for (let n = 0; n < 60; n++) {
    await pipeline.accept({ input: { n } }, n % 2 === 0 ? {} : { identity: globex });
    await clock.advance(1);
  }
  await pool.pass(4_000, 100);
  expect(mostWithin(starts, 1_000)).toBeLessThanOrEqual(6);
  expect(starts.length).toBeLessThanOrEqual(24);
  await changeLimits(ports, type, { rate: null }, "olga");
  await pool.pass(15_000, 100);
  expect(starts).toHaveLength(60);
  // The rate allows six.
  expect(mostWithin(starts, 1_000)).toBeGreaterThan(12);
});
