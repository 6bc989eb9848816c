import { describe, expect, test } from "vitest";
import { knownArrivals } from "../../../src/tools/plan/arrivals.ts";
import { awsModel } from "../../../src/tools/plan/model.ts";
import { readScenario, type ScenarioInput } from "../../../src/tools/plan/scenario.ts";
import { type Outcome, simulate } from "../../../src/tools/plan/simulate.ts";
import fc from "../../support/fast-check.ts";

const unbounded = { requestsPerSecond: 1e9, burst: 1e9 };
const run = (input: ScenarioInput, arrivals?: readonly number[]) =>
  simulate(awsModel(readScenario(input), arrivals === undefined ? undefined : knownArrivals(arrivals)));

const anyScenario = fc.record({
  hours: fc.constantFrom(0.02, 0.1),
  tasksPerSecond: fc.array(fc.constantFrom(0, 1, 20, 80), { minLength: 1, maxLength: 4 }),
  failureRate: fc.constantFrom(0, 0.05, 0.5, 1),
  maxAttempts: fc.integer({ min: 1, max: 6 }),
  delayed: fc.record({ share: fc.constantFrom(0, 0.3), seconds: fc.constantFrom(5, 600, 2_000) }),
  tiers: fc.constantFrom(
    { normal: { share: 1 } },
    { critical: { share: 0.2 }, low: { share: 0.8, maxConcurrency: 2 } },
    { high: { share: 1, provisionedPollers: { minimum: 2, maximum: 4 } } },
  ),
  durations: fc.constantFrom({ p50Ms: 10, p99Ms: 10 }, { p50Ms: 300, p99Ms: 20_000 }),
  seed: fc.integer(),
});

test("every task ends, completed or failed for good, whatever the scenario", () => {
  fc.assert(
    fc.property(anyScenario, (input) => {
      const { tiers, unfinished, traffic } = run(input);
      expect(unfinished).toBe(0);
      for (const tier of tiers) {
        expect(tier.completed + tier.dead).toBe(tier.tasks);
        expect(tier.waits.count).toBe(tier.tasks);
        expect(tier.attempts).toBeGreaterThanOrEqual(tier.tasks);
        expect(tier.attempts).toBeLessThanOrEqual(tier.tasks * input.maxAttempts);
        expect(tier.sends).toBe(tier.attempts);
        expect(tier.peakRunning).toBeLessThanOrEqual(tier.mostRunning);
        if (input.failureRate === 0) expect(tier.dead).toBe(0);
        if (input.failureRate === 1) expect(tier.completed).toBe(0);
      }
      expect(traffic.firings.total).toBe(traffic.schedules.total);
    }),
    { numRuns: 40 },
  );
});

test("the same scenario gives the same plan", () => {
  const input = { hours: 0.1, tasksPerSecond: 30, failureRate: 0.1 };
  const [one, two] = [run(input), run(input)];
  expect(one.series).toEqual(two.series);
  expect(one.tiers.map(({ attempts }) => attempts)).toEqual(two.tiers.map(({ attempts }) => attempts));
});

describe("waits", () => {
  const exact = {
    hours: 0.01,
    failureRate: 0,
    durations: { p50Ms: 1_000, p99Ms: 1_000 },
    overhead: { pickUpMs: 0, batchMs: 0, coldStartMs: 0 },
    throttle: unbounded,
  };

  test("waits are those of a queue with batches of ten: two invocations at once do twenty tasks a second", () => {
    const tiers = { normal: { share: 1, maxConcurrency: 2 } };
    const { tiers: outcomes } = run({ ...exact, tiers }, [...new Array(102).fill(0)]);
    const waits = outcomes[0]?.waits;
    // The first two tasks start alone, as a batch is what is there; then 10 batches of 10 in 5 rounds.
    expect(outcomes[0]).toMatchObject({ tasks: 102, invocations: 12, peakRunning: 2, peakDepth: 100 });
    expect(outcomes[0]?.longestWait).toBeCloseTo(5, 6);
    expect(waits?.meanSeconds).toBeCloseTo((20 * (1 + 2 + 3 + 4 + 5)) / 102, 6);
  });

  test("waits include a cold start once for each environment", () => {
    const overhead = { ...exact.overhead, coldStartMs: 500 };
    const { tiers: outcomes } = run({ ...exact, overhead }, [0, 10, 20]);
    expect(outcomes[0]).toMatchObject({ coldStarts: 1, longestWait: 0.5 });
    expect(outcomes[0]?.busySeconds).toBeCloseTo(3.5, 6);
  });

  test("waits of a tier do not grow under a flood of another one", () => {
    const flood = [{ atSeconds: 60, tasks: 10_000, overSeconds: 1, tier: "low" as const }];
    const tiers = { critical: { share: 1 }, low: { share: 0, maxConcurrency: 50 } };
    const scenario = { ...exact, hours: 0.1, tasksPerSecond: 2, tiers };
    const alone = run(scenario).tiers.find(({ tier }) => tier === "critical");
    const flooded = run({ ...scenario, bursts: flood }).tiers.find(({ tier }) => tier === "critical");
    expect(flooded?.waits.quantile(0.99)).toBeLessThan(1.5 * (alone?.waits.quantile(0.99) ?? 0) + 0.1);
  });
});

describe("delays", () => {
  const late = { hours: 0.01, failureRate: 0, overhead: { pickUpMs: 0, coldStartMs: 0 } };

  test("delays up to 15 minutes stay in the queue, and longer ones become schedules", () => {
    const short = run({ ...late, delayed: { share: 1, seconds: 900 } }, [0, 1]);
    expect(short.traffic.schedules.total).toBe(0);
    const long = run({ ...late, delayed: { share: 1, seconds: 901 } }, [0, 1]);
    expect(long.traffic.schedules.total).toBe(2);
    for (const { tiers } of [short, long]) expect(tiers[0]).toMatchObject({ completed: 2, longestWait: 0 });
  });

  test("100,000 delays to one moment wait for the Scheduler's 1,000 firings a second, except for the minute's lead", () => {
    const many = new Array(100_000).fill(0);
    const { tiers, traffic } = run({ ...late, throttle: unbounded, delayed: { share: 1, seconds: 3_600 } }, many);
    expect(traffic.firings.peak.count).toBeGreaterThan(1_000);
    // 60 s of lead let 60,000 fire in time; the last one is 40 s late, and then waits for its tier.
    expect(tiers[0]?.longestWait).toBeGreaterThanOrEqual(40);
  });
});

describe("the throttle", () => {
  test("the throttle refuses requests beyond its burst, polls included", () => {
    const arrivals = new Array(100).fill(0);
    const throttle = { requestsPerSecond: 10, burst: 30 };
    const { traffic } = run({ hours: 0.01, pollsPerTask: 2, throttle }, arrivals);
    expect(traffic.refused).toBe(90);
    expect(traffic.firstRefusedAt).toBe(0);
  });

  test("the throttle fills again with the time", () => {
    const throttle = { requestsPerSecond: 1, burst: 1 };
    const { traffic } = run({ hours: 0.01, pollsPerTask: 0, throttle }, [0, 0.5, 1.6, 3]);
    expect(traffic.refused).toBe(1);
  });
});

describe("batches of submits", () => {
  const load = { hours: 1, pollsPerTask: 0, failureRate: 0, durations: { p50Ms: 200, p99Ms: 200 } };
  const normal = ({ tiers: [tier] }: Outcome) => tier as NonNullable<typeof tier>;

  test("as many tasks come in fewer requests, sends and invocations", () => {
    const [one, many] = [1, 500].map((batchSize) => run({ ...load, tasksPerSecond: 20, batchSize })) as [
      Outcome,
      Outcome,
    ];
    const tasks = normal(many).tasks;
    expect(Math.abs(tasks / normal(one).tasks - 1)).toBeLessThan(0.3);
    expect(many.traffic.accepted.requests * 500).toBe(tasks);
    expect(normal(many)).toMatchObject({ completed: tasks, sends: tasks, sendCalls: tasks / 10 });
    expect(normal(one).sendCalls).toBe(normal(one).tasks);
    expect(normal(many).invocations).toBeLessThan(tasks / 9);
  });

  test("a burst can come in batches of its own", () => {
    const bursts = [{ atSeconds: 60, tasks: 20_000, overSeconds: 60, batchSize: 100 }];
    const { traffic, tiers } = run({ ...load, tasksPerSecond: 0, bursts });
    expect(tiers[0]?.tasks).toBe(traffic.accepted.requests * 100);
    expect(Math.abs(traffic.accepted.requests / 200 - 1)).toBeLessThan(0.3);
  });

  test("each tier of a batch has its own sends, also of delayed messages", () => {
    const tiers = { normal: { share: 0.5 }, low: { share: 0.5 } };
    const scenario = readScenario({ ...load, tiers, delayed: { share: 0.5, seconds: 600 } });
    const outcome = simulate(awsModel(scenario, knownArrivals([0], 500)));
    for (const tier of outcome.tiers) expect(tier).toMatchObject({ sendCalls: Math.ceil(tier.sends / 10) });
    expect(outcome.tiers.reduce((sum, { sends }) => sum + sends, 0)).toBe(500);
  });
});
