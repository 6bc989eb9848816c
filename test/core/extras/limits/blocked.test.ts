import { describe, expect, test } from "vitest";
import { z } from "zod";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";
import { workerPool } from "../../../support/worker-pool.ts";

const memoryPipeline = pipelineWith(limits);

const input = z.object({ n: z.number(), ms: z.number() });
const minute = 60_000;

/** A pipeline whose tasks take long, the start of each in milliseconds, and the messages and writes of its line. */
function setUp(limit: number, more: Partial<TaskType> = {}) {
  const starts: { n: number; at: number }[] = [];
  const counts = { checks: 0, plans: 0 };
  const handler = async ({ n, ms }: z.output<typeof input>) => {
    starts.push({ n, at: pipeline.clock.now() - began });
    await new Promise<void>((resolve) => pipeline.clock.after(ms, resolve));
  };
  const type = typeOf(handler, { input, timeoutSeconds: 840, concurrency: { limit }, ...more });
  const pipeline = memoryPipeline([type]);
  const began = pipeline.clock.now();
  const { queues, lines } = pipeline;
  const [put, planCheck] = [queues.put.bind(queues), lines.planCheck.bind(lines)];
  queues.put = (tier, body, options) => {
    if (body.includes("check_id")) counts.checks += 1;
    put(tier, body, options);
  };
  lines.planCheck = (...given) => {
    counts.plans += 1;
    return planCheck(...given);
  };
  const pool = workerPool(pipeline);
  const submitMany = async (count: number, ms: number, of = {}) => {
    for (let n = 0; n < count; n++) {
      await pipeline.accept({ input: { n, ms } }, of);
      await pool.pass(100);
    }
  };
  return { ...pipeline, pool, starts, counts, submitMany };
}

describe("a line whose places are taken by long tasks", () => {
  test.each([1, 3, 40])("of %i places is looked at every four minutes", async (limit) => {
    const { submitMany, pool, counts, starts } = setUp(limit);
    await submitMany(limit + 5, 800_000);
    await pool.pass(2 * minute);
    Object.assign(counts, { checks: 0, plans: 0 });
    await pool.pass(10 * minute, 5_000);
    expect(starts).toHaveLength(limit);
    expect(counts.checks).toBeLessThanOrEqual(3);
    expect(counts.plans).toBe(counts.checks);
  });

  test("which come one after the other is looked at little more often than once a minute", async () => {
    const { submitMany, pool, counts, starts } = setUp(1);
    await submitMany(20, 100_000);
    await pool.pass(30 * minute, 1_000);
    expect(starts.length).toBeGreaterThan(17);
    expect(counts.checks).toBeLessThanOrEqual(36);
  });

  test("goes on at once with each end, for hours", async () => {
    const { submitMany, pool, starts } = setUp(2);
    await submitMany(8, 700_000);
    await pool.pass(60 * minute, 5_000);
    const late = starts.slice(2).map(({ at }, index) => at - (starts[index]?.at ?? 0) - 700_000);
    expect(Math.max(...late)).toBeLessThan(2_000);
    expect(starts).toHaveLength(8);
  });
});

describe("the place of a dead worker's task", () => {
  /** The lease of its attempt, and what hides the message longer. */
  const leaseMs = 120_000 + 5_000;

  test.each([
    [1, 1, 10_000],
    [1, 3, 10_000],
    [3, 1, 10_000],
    [3, 1, 100_000],
    [40, 1, 10_000],
  ])("of %i places goes to the next one when its message comes back (%i attempts, %i ms)", async (limit, ...more) => {
    const [maxAttempts, diesMs] = more;
    const { submitMany, pool, starts, records } = setUp(limit, { maxAttempts });
    await submitMany(limit + 1, 800_000);
    await pool.pass(diesMs - 100 * (limit + 1));
    pool.kill(() => 0);
    const renewedMs = diesMs > 80_000 ? 82_000 : 0;
    await pool.pass(renewedMs + leaseMs + 2_000);
    expect(starts).toHaveLength(limit + 1);
    expect(starts.at(-1)).toMatchObject({ n: limit });
    // Nobody counts a place twice.
    await pool.pass(200_000);
    const running = records.all().filter(({ status }) => status === "processing");
    expect(running.length).toBeLessThanOrEqual(limit);
  });

  test("goes to the next one when its own task is paused", async () => {
    const { submitMany, pool, starts, ports } = setUp(1, { concurrency: { limit: 1, scope: "deployment" } });
    await submitMany(1, 800_000);
    await submitMany(1, 800_000, { identity: { tenantId: "beta", principal: "p", role: "operator" } });
    await pool.pass(10_000);
    pool.kill(() => 0);
    const since = new Date().toISOString();
    await ports.flowSettings.put({ kind: "pause", name: "pause/tenant/acme", since, by: "olga" });
    await pool.pass(leaseMs + 2_000);
    expect(starts).toHaveLength(2);
  });

  // The worker runs the next task itself within a minute of the message that led to it.
  test.each([
    { to: "a message", taken: false, foundMs: 61_000 },
    { to: "a task that it takes", taken: true, foundMs: 136_000 },
  ])("that it had just passed on to $to is found $foundMs ms later", async ({ taken, foundMs }) => {
    const { submitMany, pool, starts, queues } = setUp(1);
    await submitMany(1, 400_000);
    await submitMany(1, taken ? 5_000 : 400_000);
    await submitMany(1, 1_000);
    const put = queues.put.bind(queues);
    let died = false;
    queues.put = (tier, body, options = {}) => {
      died ||= options.ticket?.hasPermit === true && (options.ticket.isBackup === true) === taken;
      if (died) pool.kill(() => 0);
      else put(tier, body, options);
    };
    for (let waited = 0; !died && waited < 420_000; waited += 100) await pool.pass(100);
    queues.put = put;
    const before = starts.length;
    await pool.pass(foundMs - 10_000);
    expect(starts).toHaveLength(before);
    await pool.pass(14_000);
    expect(starts.map(({ n }) => n)).toEqual(taken ? [0, 0, 0] : [0, 0]);
  });
});

test("a line whose check no worker could take for hours goes on with it: redrive keeps it", async () => {
  const { submitMany, pool, starts, lines, clock } = setUp(1);
  await lines.acquirePermits("concurrency/test.task/acme/", ["gone"], 2 * clock.now(), 1);
  await submitMany(1, 1_000);
  const states = lines.states.bind(lines);
  lines.states = () => Promise.reject(new PortUnavailable("down"));
  await pool.pass(12 * 60 * minute, minute);
  expect(starts).toHaveLength(0);
  lines.states = states;
  for (const [task, untilMs] of (await lines.state("concurrency/test.task/acme/")).permits)
    await lines.releasePermit("concurrency/test.task/acme/", task, untilMs);
  await pool.pass(120 * minute, minute);
  expect(starts).toHaveLength(1);
});
