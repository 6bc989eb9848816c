import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { keptUntilMs } from "../../../../src/core/extras/limits/place-book.ts";
import type { WaitQueues } from "../../../../src/core/ports/flow.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ n: z.number(), ms: z.number() });

/** One process that receives ten messages at a time, and a line of three places whose calls take 5 ms each. */
function setUp(limit = 3, { failing = 0 } = {}) {
  const starts: { n: number; at: number }[] = [];
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    starts.push({ n, at: pipeline.clock.now() });
    await after(ms);
    if (n < failing) throw new Error("fails");
  };
  const type = typeOf(handler, { input, timeoutSeconds: 30, concurrency: { limit } });
  const pipeline = memoryPipeline([type]);
  const { clock, lines, queues } = pipeline;
  const after = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  const spies = {
    passPermit: vi.spyOn(lines, "passPermit"),
    releasePermit: vi.spyOn(lines, "releasePermit"),
    renewPermit: vi.spyOn(lines, "renewPermit"),
    acquirePermits: vi.spyOn(lines, "acquirePermits"),
    states: vi.spyOn(lines, "states"),
    first: vi.spyOn(lines, "first"),
    sendCheck: vi.spyOn(queues, "sendCheck"),
  };
  const slow = <Method extends "add" | "first" | "states" | "passPermit" | "acquirePermits">(
    method: Method,
    ms: number,
  ) => {
    const call = lines[method].bind(lines) as (...given: unknown[]) => Promise<unknown>;
    lines[method] = ((...given: unknown[]) => after(ms).then(() => call(...given))) as WaitQueues[Method] &
      (typeof lines)[Method];
  };
  const submitMany = async (count: number, ms: number) => {
    const from = pipeline.records.all().length;
    for (let n = from; n < from + count; n++) {
      await pipeline.accept({ input: { n, ms } });
      // Tasks of one millisecond have no order.
      await clock.advance(1);
    }
  };
  const pool = workerPool(pipeline, { batch: 10 });
  return { ...pipeline, pool, starts, spies, slow, submitMany };
}

const answers = async (spy: { mock: { results: { value: unknown }[] } }): Promise<unknown[]> =>
  Promise.all(spy.mock.results.map(({ value }) => value));

describe("tasks of one process that join a line together", () => {
  test("need one look at it, and plan one check", async () => {
    const { pool, submitMany, slow, spies, starts } = setUp();
    await submitMany(3, 10_000);
    await pool.pass(100);
    for (const method of ["first", "states"] as const) slow(method, 5);
    await submitMany(10, 100);
    spies.states.mockClear();
    await pool.pass(500, 1);
    expect(starts).toHaveLength(3);
    // The first look began before the other tasks had joined, and a second one serves them.
    expect(spies.states.mock.calls.length).toBeLessThanOrEqual(2);
    expect(spies.sendCheck).toHaveBeenCalledTimes(1);
  });

  test("get all places that are free", async () => {
    const { pool, submitMany, slow, starts, clock } = setUp();
    await submitMany(3, 100);
    await pool.pass(50, 1);
    // They find no place, and are in the line only when all places are free.
    slow("add", 200);
    await submitMany(10, 5_000);
    await pool.pass(30, 1);
    for (const method of ["first", "states"] as const) slow(method, 5);
    const joining = clock.now();
    await pool.pass(400, 1);
    expect(starts).toHaveLength(6);
    expect(Math.max(...starts.map(({ at }) => at)) - joining).toBeLessThan(250);
  });

  test("are let go by a second try, when the first one meets another call", async () => {
    const { pool, submitMany, slow, spies, starts, clock } = setUp(1);
    await submitMany(1, 100);
    await pool.pass(50, 1);
    slow("add", 200);
    await submitMany(1, 100);
    await pool.pass(30, 1);
    spies.acquirePermits.mockResolvedValueOnce(false);
    const joining = clock.now();
    await pool.pass(400, 1);
    expect(starts).toHaveLength(2);
    expect((starts[1]?.at ?? 0) - joining).toBeLessThan(250);
  });

  test("ask whether they have a place already without a write", async () => {
    const { pool, submitMany, spies, records } = setUp();
    await submitMany(3, 2_000);
    await pool.pass(100);
    await submitMany(20, 100);
    await pool.pass(1_000);
    expect(spies.renewPermit).not.toHaveBeenCalled();
    await pool.pass(600_000);
    expect(records.all().every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(true);
  });
});

describe("tasks of one process that end at the same time", () => {
  test.each([3, 10])("pass their places on, of %s each to another task", async (limit) => {
    const { pool, submitMany, slow, spies, starts, records } = setUp(limit);
    await submitMany(6 * limit, 1_000);
    for (const method of ["first", "passPermit", "acquirePermits"] as const) slow(method, 5);
    await pool.pass(500);
    await pool.pass(10_000, 1);
    expect(starts.map(({ n }) => n)).toEqual(Array.from({ length: 6 * limit }, (_, n) => n));
    expect((starts.at(-1)?.at ?? 0) - (starts[0]?.at ?? 0)).toBeLessThan(5_300);
    expect(records.all().every(({ status }) => status === "completed")).toBe(true);
    expect((await answers(spies.passPermit)).filter((state) => state === undefined)).toEqual([]);
  });

  test("pass them on also if they never waited, as others joined the line here", async () => {
    const { pool, submitMany, spies } = setUp();
    await submitMany(9, 1_000);
    await pool.pass(20_000, 10);
    expect(spies.passPermit).toHaveBeenCalledTimes(6);
    expect(spies.releasePermit).toHaveBeenCalledTimes(3);
  });

  test("do not ask for the next task of a line that was found empty", async () => {
    const { pool, submitMany, spies } = setUp();
    await submitMany(9, 1_000);
    await pool.pass(20_000, 10);
    spies.first.mockClear();
    await submitMany(1, 100);
    await pool.pass(5_000);
    // Before it takes its place, and after it has given it back.
    expect(spies.first).toHaveBeenCalledTimes(2);
  });

  test("let a task go at once that one of them had chosen, whose place a second message has kept", async () => {
    const { pool, submitMany, slow, spies, starts, lines, clock, records, queues } = setUp(2, { failing: 2 });
    await submitMany(3, 1_000);
    await pool.pass(990, 1);
    const twin = records.all()[0]?.task_id ?? "";
    const line = "concurrency/test.task/acme/";
    const from = { task: twin, untilMs: (await lines.state(line)).permits.get(twin) ?? 0 };
    await lines.renewPermit(line, from, keptUntilMs(clock.now(), { timeoutSeconds: 30 }));
    slow("passPermit", 20);
    // The message that looks at the line again waits in its tier for minutes.
    const sendCheck = queues.sendCheck.bind(queues);
    queues.sendCheck = (check) => sendCheck({ ...check, delaySeconds: 300 });
    await pool.pass(100, 1);
    expect((await answers(spies.passPermit)).filter((state) => state === undefined)).toHaveLength(1);
    expect(starts.map(({ n }) => n)).toEqual([0, 1, 2]);
  });
});
