import { expect, test, vi } from "vitest";
import { z } from "zod";
import { limitKey } from "../../../../src/core/extras/limits/manage-flow.ts";
import { settingsKnownMs } from "../../../../src/core/ports/flow.ts";
import { knownTypesOf } from "../../../../src/core/task/catalog.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

type Input = { shop: string; size: number };

const line = "concurrency/test.task/acme/north";

function setUp({ limit = ({ size }: Input) => size, more = {} as Partial<TaskType>, runsMs = 10_000 } = {}) {
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  const type = typeOf(
    async ({ shop }: Input) => {
      const now = (running.get(shop) ?? 0) + 1;
      running.set(shop, now);
      most.set(shop, Math.max(most.get(shop) ?? 0, now));
      await new Promise<void>((resolve) => pipeline.clock.after(runsMs, resolve));
      running.set(shop, (running.get(shop) ?? 0) - 1);
    },
    {
      input: z.object({ shop: z.string(), size: z.number() }),
      concurrency: { key: (({ shop }: Input) => shop) as never, limit: limit as never },
      timeoutSeconds: 60,
      ...more,
    },
  );
  const pipeline = memoryPipeline([type]);
  const pool = workerPool(pipeline);
  const submit = async (shop: string, size: number, times = 1) => {
    const tasks = [];
    for (let n = 0; n < times; n++) {
      tasks.push(await pipeline.accept({ input: { shop, size } }));
      await pipeline.clock.advance(1);
    }
    return tasks;
  };
  const at = (shop: string) => running.get(shop) ?? 0;
  const ended = () => pipeline.records.all().every(({ status }) => status === "completed");
  return { ...pipeline, pipeline, pool, submit, running: at, most, ended, type };
}

test("each key has as many places as its newest input says, and its tasks all run", async () => {
  const { submit, pool, running, ended } = setUp();
  await submit("north", 3, 6);
  await submit("south", 1, 3);
  await pool.pass(5_000);
  expect([running("north"), running("south")]).toEqual([3, 1]);
  await pool.pass(120_000);
  expect(ended()).toBe(true);
});

test("a newer input raises the limit, and lets more of those go that wait", async () => {
  const { submit, pool, running } = setUp();
  await submit("north", 1, 8);
  await pool.pass(5_000);
  expect(running("north")).toBe(1);
  await submit("north", 5);
  await pool.pass(8_000);
  expect(running("north")).toBe(5);
});

test("a newer input lowers the limit: what runs goes on, and no further one starts beyond it", async () => {
  const { submit, pool, running, ended } = setUp();
  await submit("north", 4, 8);
  await pool.pass(3_000);
  expect(running("north")).toBe(4);
  await submit("north", 1, 3);
  await pool.pass(4_000);
  expect(running("north")).toBe(4);
  for (let n = 0; n < 6; n++) {
    await pool.pass(9_000);
    expect(running("north")).toBeLessThanOrEqual(1);
  }
  await pool.pass(120_000);
  expect(ended()).toBe(true);
});

test("an input that was accepted before the one that counts changes nothing, whenever it comes", async () => {
  const { accept, submit, pool, running, lines, clock } = setUp();
  await accept({ input: { shop: "north", size: 9 }, delay_seconds: 60 });
  await clock.advance(10);
  await submit("north", 2, 20);
  await pool.pass(65_000);
  expect((await lines.state(line)).keyLimit?.value).toBe(2);
  expect(running("north")).toBe(2);
});

test("a value that comes again is noted once a minute: an input from between, which comes late, changes nothing", async () => {
  const { accept, submit, pool, lines } = setUp({ runsMs: 10 });
  const noted = vi.spyOn(lines, "noteLimit");
  await submit("north", 3);
  await pool.pass(3_000);
  await accept({ input: { shop: "north", size: 5 }, delay_seconds: 120 });
  for (let n = 0; n < 20; n++) {
    await submit("north", 3);
    await pool.pass(5_000);
  }
  expect(noted).toHaveBeenCalledTimes(2);
  await pool.pass(60_000);
  expect((await lines.state(line)).keyLimit?.value).toBe(3);
});

test("a start of an unchanged key writes nothing more than one of a limit that is a number", async () => {
  const writes = async (limit: (input: Input) => number) => {
    const { submit, pool, lines } = setUp({ limit, runsMs: 10 });
    await submit("north", 2);
    await pool.pass(3_000);
    const noted = vi.spyOn(lines, "noteLimit");
    const taken = vi.spyOn(lines, "acquirePermits");
    for (let n = 0; n < 5; n++) {
      await submit("north", 2);
      await pool.pass(3_000);
    }
    return [noted.mock.calls.length, taken.mock.calls.length];
  };
  expect(await writes(({ size }) => size)).toEqual([0, 5]);
  expect(await writes(2 as never)).toEqual([0, 5]);
});

test("a function that throws, or gives no whole number from 1 to 10,000, fails the attempt before its handler", async () => {
  const thrown = () => {
    throw new Error("no plan");
  };
  for (const [limit, text] of [
    [thrown, "the limit of concurrency: no plan"],
    [() => 0, "the limit of concurrency: it returned 0, and no whole number from 1 to 10000"],
    [() => 1.5, "it returned 1.5"],
    [() => 10_001, "it returned 10001"],
    [() => "3" as never, 'it returned "3"'],
    [async () => 3, "it returned"],
  ] as const) {
    const { submit, pool, recordOf, most } = setUp({ limit: limit as never });
    const [task] = await submit("north", 1);
    await pool.pass(3_000);
    const record = await recordOf(task as never);
    expect(record).toMatchObject({ status: "failed", error_kind: "permanent" });
    expect(record.error).toContain(text);
    expect(most.size).toBe(0);
  }
});

test("an operator's limit of the key wins, and the newest input counts again after it", async () => {
  const { submit, pool, running, ports, type, clock, ended } = setUp({ runsMs: 20_000 });
  await submit("north", 4, 1);
  await pool.pass(30_000);
  const known = knownTypesOf([type]).get("test.task") as never;
  const olga = { tenantId: "acme", isAdmin: false, principal: "olga" };
  await limitKey(ports, known, "north", { limit: 2, expires_in_seconds: 60 }, olga);
  await clock.advance(settingsKnownMs);
  await submit("north", 4, 30);
  await pool.pass(15_000);
  expect(running("north")).toBe(2);
  await pool.pass(45_000);
  expect(running("north")).toBe(4);
  await pool.pass(200_000);
  expect(ended()).toBe(true);
});

test("a limit of more places than an item has is spread, also when it grows and shrinks", async () => {
  const { submit, pool, running, ended, most } = setUp({ runsMs: 20_000 });
  await submit("north", 20, 60);
  await pool.pass(15_000);
  expect(running("north")).toBe(20);
  await submit("north", 40, 20);
  await pool.pass(100_000);
  expect(most.get("north")).toBeLessThanOrEqual(40);
  await submit("north", 2, 6);
  await pool.pass(200_000);
  expect(ended()).toBe(true);
});

test("the compiler refuses a function of another input, and one without a key", () => {
  const input = z.object({ shop: z.string(), size: z.number() });
  const handler = async () => null;
  const key = ({ shop }: Input) => shop;
  defineTask({ name: "a.b", input, concurrency: { key, limit: ({ size }) => size }, handler });
  // @ts-expect-error The input has no `plan`.
  defineTask({ name: "a.b", input, concurrency: { key, limit: ({ plan }) => plan }, handler });
  // @ts-expect-error A limit is a number.
  defineTask({ name: "a.b", input, concurrency: { key, limit: ({ shop }) => shop }, handler });
  const keyless = { limit: ({ size }: Input) => size };
  // @ts-expect-error There is no key.
  expect(() => defineTask({ name: "a.b", input, concurrency: keyless, handler })).toThrow(
    "concurrency.limit by input needs key",
  );
});
