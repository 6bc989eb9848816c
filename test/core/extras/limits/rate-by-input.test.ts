import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { changeLimits, limitKey } from "../../../../src/core/extras/limits/manage-flow.ts";
import { settingsKnownMs } from "../../../../src/core/ports/flow.ts";
import { knownTypesOf } from "../../../../src/core/task/catalog.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { typeRate } from "../../../../src/core/task/type-limits.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

type Input = { shop: string; size: number };

const line = "rate/test.task/acme/north";
const key = ({ shop }: Input) => shop;
const size = ({ size }: Input) => size;
const input = z.object({ shop: z.string(), size: z.number() });
const perMinute = { key, limit: size, perSeconds: 60 };
const olga = { tenantId: "acme", isAdmin: false, principal: "olga" };

function setUp(rateLimit: unknown = perMinute, more: Partial<TaskType> = {}) {
  const starts = new Map<string, number[]>();
  const type = typeOf(
    ({ shop }: Input) => {
      starts.set(shop, [...(starts.get(shop) ?? []), pipeline.clock.now()]);
    },
    { input, rateLimit: typeRate(rateLimit as never), ...more },
  );
  const pipeline = memoryPipeline([type]);
  const submit = async (shop: string, size: number, times = 1) => {
    const tasks = [];
    for (let n = 0; n < times; n++) {
      tasks.push(await pipeline.accept({ input: { shop, size } }));
      await pipeline.clock.advance(1);
    }
    return tasks;
  };
  const of = (shop: string, fromMs = 0) => (starts.get(shop) ?? []).filter((at) => at >= fromMs);
  const ended = () => pipeline.records.all().every(({ status }) => status === "completed");
  const known = knownTypesOf([type]).get("test.task") ?? expect.fail();
  return { ...pipeline, pipeline, pool: workerPool(pipeline), submit, starts: of, ended, known };
}

/** The most starts in any time of this length. */
const mostIn = (times: readonly number[], seconds: number): number =>
  Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1000 * seconds).length));

describe("a rate by input", () => {
  test("each key has as many starts as its newest input says, evenly spaced, and its tasks all run", async () => {
    const { submit, pool, starts, ended } = setUp();
    await submit("north", 30, 40);
    await submit("south", 6, 8);
    await pool.pass(60_000, 100);
    expect([starts("north").length, starts("south").length]).toEqual([30, 6]);
    await pool.pass(60_000, 100);
    expect([mostIn(starts("north"), 60), mostIn(starts("south"), 60)]).toEqual([30, 6]);
    expect(ended()).toBe(true);
  });

  test("a newer input raises the rate also for those that wait already", async () => {
    const { submit, pool, starts, clock } = setUp();
    await submit("north", 1, 20);
    await pool.pass(30_000, 100);
    expect(starts("north")).toHaveLength(1);
    await submit("north", 30);
    const from = clock.now();
    await pool.pass(45_000, 100);
    expect(starts("north").length).toBeGreaterThan(15);
    expect(mostIn(starts("north", from), 60)).toBeLessThanOrEqual(30);
  });

  test("a newer input lowers the rate, of those that wait, too", async () => {
    const { submit, pool, starts, clock, ended } = setUp();
    await submit("north", 60, 60);
    await pool.pass(10_000, 100);
    expect(starts("north").length).toBeGreaterThan(7);
    await submit("north", 2);
    await pool.pass(4_000, 100);
    const from = clock.now();
    await pool.pass(600_000);
    expect(mostIn(starts("north", from), 60)).toBeLessThanOrEqual(2);
    expect(starts("north", from).length).toBeGreaterThan(16);
    await submit("north", 60);
    await pool.pass(120_000);
    expect(ended()).toBe(true);
  });

  test("an input that was accepted before the one that counts changes nothing, whenever it comes", async () => {
    const { accept, submit, pool, lines, clock } = setUp();
    await accept({ input: { shop: "north", size: 50 }, delay_seconds: 60 });
    await clock.advance(10);
    await submit("north", 2, 3);
    await pool.pass(65_000);
    expect((await lines.state(line)).keyLimit?.value).toEqual({ 60: 2 });
  });

  test("a start of an unchanged key writes nothing more than one of a limit that is a number", async () => {
    const writes = async (limit: unknown) => {
      const { submit, pool, lines } = setUp({ key, limit, perSeconds: 10 });
      await submit("north", 20);
      await pool.pass(3_000);
      const noted = vi.spyOn(lines, "noteLimit");
      const taken = vi.spyOn(lines, "acquireToken");
      for (let n = 0; n < 5; n++) {
        await submit("north", 20);
        await pool.pass(3_000);
      }
      return [noted.mock.calls.length, taken.mock.calls.length];
    };
    expect(await writes(size)).toEqual([0, 5]);
    expect(await writes(20)).toEqual([0, 5]);
  });

  test("a function that throws, or gives no whole number from 1 to 100,000, fails the attempt before its handler", async () => {
    const thrown = () => {
      throw new Error("no plan");
    };
    for (const [limit, text] of [
      [thrown, "the limit of rateLimit: no plan"],
      [() => 0, "the limit of rateLimit: it returned 0, and no whole number from 1 to 100000"],
      [() => Number.NaN, "it returned NaN"],
      [() => -1, "it returned -1"],
      [() => 1.5, "it returned 1.5"],
      [() => 100_001, "it returned 100001"],
      [() => "3", 'it returned "3"'],
      [async () => 3, "it returned"],
    ] as const) {
      for (const rateLimit of [{ ...perMinute, limit }, [perMinute, { key, limit, perSeconds: 600 }]]) {
        const { submit, pool, recordOf, starts } = setUp(rateLimit);
        const [task] = await submit("north", 1);
        await pool.pass(3_000);
        const record = await recordOf(task as never);
        expect(record).toMatchObject({ status: "failed", error_kind: "permanent" });
        expect(record.error).toContain(text);
        expect(starts("north")).toEqual([]);
      }
    }
  });

  test("an operator's rate of the key wins, and the newest input counts again after it", async () => {
    const { submit, pool, starts, ports, known, clock, ended } = setUp();
    await limitKey(ports, known, "north", { limit: 2, expires_in_seconds: 120 }, olga);
    await clock.advance(settingsKnownMs);
    await submit("north", 60, 40);
    const from = clock.now();
    await pool.pass(110_000);
    expect(starts("north", from).length).toBeLessThanOrEqual(4);
    await pool.pass(120_000);
    expect(ended()).toBe(true);
    expect(mostIn(starts("north"), 60)).toBeGreaterThan(20);
  });

  test("an operator's rate of the type wins over all keys", async () => {
    const { submit, pool, starts, ports, known, clock } = setUp();
    await changeLimits(ports, known, { rate: { limit: 60, per_seconds: 60 } }, "olga");
    await clock.advance(settingsKnownMs);
    await submit("north", 1, 20);
    await pool.pass(30_000, 100);
    expect(starts("north")).toHaveLength(20);
  });

  test("places and a rate by input: both count", async () => {
    const { submit, pool, starts, ended } = setUp(perMinute, { concurrency: { key, limit: size } as never });
    await submit("north", 12, 20);
    await pool.pass(60_000, 100);
    expect(mostIn(starts("north"), 60)).toBe(12);
    await pool.pass(60_000, 100);
    expect(ended()).toBe(true);
  });

  test("strict order with a rate by input", async () => {
    const { submit, pool, starts, ended } = setUp(perMinute, {
      concurrency: { key, limit: 1, order: "strict" } as never,
    });
    await submit("north", 6, 10);
    await pool.pass(60_000, 100);
    expect(starts("north")).toHaveLength(6);
    await pool.pass(60_000, 100);
    expect(ended()).toBe(true);
  });
});

describe("a list of rates by input", () => {
  const rates = [
    { key, limit: 2, perSeconds: 1 },
    { key, limit: size, perSeconds: 60 },
    { key, limit: ({ size }: Input) => 2 * size, perSeconds: 600 },
  ];

  test("each rate has the limit of the newest input, and a number stays a number", async () => {
    const { submit, pool, starts, lines } = setUp(rates);
    await submit("north", 5, 30);
    await pool.pass(59_000, 100);
    expect([mostIn(starts("north"), 1), starts("north").length]).toEqual([2, 5]);
    expect((await lines.state(line)).keyLimit?.value).toEqual({ 60: 5, 600: 10 });
    await pool.pass(500_000);
    expect(starts("north")).toHaveLength(10);
    await submit("north", 15);
    await pool.pass(120_000);
    expect([mostIn(starts("north"), 60), starts("north").length]).toEqual([15, 31]);
  });

  test("an operator's rate replaces that of its time alone", async () => {
    const { submit, pool, starts, ports, known, clock } = setUp(rates);
    await limitKey(ports, known, "north", { limit: 9, per_seconds: 60 }, olga);
    await clock.advance(settingsKnownMs);
    await submit("north", 5, 30);
    await pool.pass(59_000, 100);
    expect(starts("north")).toHaveLength(9);
    await pool.pass(400_000);
    expect(starts("north")).toHaveLength(10);
  });
});

test("the compiler refuses a function of another input, and one without a key", () => {
  const handler = async () => null;
  const of = { name: "a.b", input, handler };
  defineTask({ ...of, rateLimit: { key, limit: ({ size }) => size, perSeconds: 60 } });
  const seconds = { key, limit: 3, perSeconds: 1 };
  defineTask({ ...of, rateLimit: [seconds, { key, limit: ({ size }) => size, perSeconds: 60 }] });
  // @ts-expect-error The input has no `plan`.
  defineTask({ ...of, rateLimit: { key, limit: ({ plan }) => plan, perSeconds: 60 } });
  // @ts-expect-error A limit is a number.
  defineTask({ ...of, rateLimit: { key, limit: ({ shop }) => shop, perSeconds: 60 } });
  // @ts-expect-error The input has no `plan`, in a list either.
  defineTask({ ...of, rateLimit: [seconds, { key, limit: ({ plan }) => plan, perSeconds: 60 }] });
  const keyless = { limit: size, perSeconds: 60 };
  // @ts-expect-error There is no key.
  expect(() => defineTask({ ...of, rateLimit: keyless })).toThrow("rateLimit.limit by input needs key");
  // @ts-expect-error There is no key.
  expect(() => defineTask({ ...of, rateLimit: [keyless] })).toThrow("rateLimit[0].limit by input needs key");
  const later = { key, limit: async () => 3, perSeconds: 60 };
  // @ts-expect-error A limit is not a promise.
  expect(() => defineTask({ ...of, rateLimit: later })).toThrow("rateLimit.limit must be");
});
