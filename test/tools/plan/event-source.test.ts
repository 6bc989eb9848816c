import { describe, expect, test } from "vitest";
import { knownArrivals } from "../../../src/tools/plan/arrivals.ts";
import { Durations } from "../../../src/tools/plan/durations.ts";
import { awsModel } from "../../../src/tools/plan/model.ts";
import { provisionedScaling, type Scaling, standardScaling } from "../../../src/tools/plan/scaling.ts";
import { readScenario } from "../../../src/tools/plan/scenario.ts";
import { type Model, simulate } from "../../../src/tools/plan/simulate.ts";

/** A flood at the start, of tasks so long that none ends: what runs is what the event source has started so far. */
function flood(scaling: Scaling, more: Partial<Model> = {}): readonly number[] {
  const points = 360;
  const scenario = readScenario({ hours: points / 3_600, accountConcurrency: 1_000_000, failureRate: 0 });
  const normal = { tier: "normal", share: 1, durations: new Durations({ p50Ms: 800_000, p99Ms: 800_000 }) } as const;
  const outcome = simulate({
    ...awsModel(scenario, knownArrivals(new Array(300_000).fill(0))),
    throttle: { requestsPerSecond: 1e9, burst: 1e9 },
    tiers: [{ ...normal, scaling, gatherSeconds: 0 }],
    points,
    ...more,
  });
  return outcome.series.normal?.running ?? [];
}

/** Invocations at once after so many seconds. */
const after = (running: readonly number[], seconds: number) => running[seconds - 1] ?? 0;

/** Within one step of growth, as a step may fall on either side of a second. */
const isAbout = (running: number, expected: number, step = 1) =>
  expect(Math.abs(running - expected), `${running} instead of ${expected}`).toBeLessThanOrEqual(step);

describe("an event source without provisioned pollers", () => {
  test("the event source starts with 5 invocations at once, adds 300 a minute, and stops at 1,250", () => {
    const running = flood(standardScaling());
    isAbout(after(running, 1), 5 + 5);
    isAbout(after(running, 60), 5 + 300);
    isAbout(after(running, 120), 5 + 600);
    isAbout(after(running, 240), 5 + 1_200);
    expect(after(running, 250)).toBe(1_250);
    expect(after(running, 360)).toBe(1_250);
  });

  test("the event source stops at maxConcurrency", () => {
    const running = flood(standardScaling(100));
    isAbout(after(running, 10), 5 + 50);
    expect(after(running, 20)).toBe(100);
    expect(after(running, 360)).toBe(100);
    expect(Math.max(...flood(standardScaling(2)))).toBe(2);
  });

  test("the event source gives its room up slowly once there is no work, and starts from 5 again", () => {
    const running = flood(standardScaling(), {
      seconds: 360,
      arrivals: knownArrivals([...new Array(5_000).fill(0), ...new Array(5_000).fill(300)]),
      tiers: [
        {
          ...{ tier: "normal", share: 1, gatherSeconds: 0 },
          durations: new Durations({ p50Ms: 60_000, p99Ms: 60_000 }),
          scaling: standardScaling(),
        },
      ],
    });
    expect(Math.max(...running.slice(0, 120))).toBeGreaterThan(200);
    expect(after(running, 300)).toBe(0);
    isAbout(after(running, 320), 5 + 5 * 20);
  });
});

describe("an event source with provisioned pollers", () => {
  test("the event source starts with 10 invocations for each poller, adds 1,000 a minute, and stops at 10 for each", () => {
    const running = flood(provisionedScaling({ minimum: 20, maximum: 200 }));
    isAbout(after(running, 60), 200 + 1_000, 10);
    isAbout(after(running, 90), 200 + 1_500, 10);
    expect(after(running, 109)).toBe(2_000);
    expect(Math.max(...running)).toBe(2_000);
  });

  test("the event source stops at 120,000 messages in flight, when the queue delivers no more", () => {
    const running = flood({ idle: 10, most: 20_000, step: 1_000, stepSeconds: 1, keepSeconds: 60 });
    // The first ten take one message each, as no more are there yet; all others take ten.
    expect(Math.max(...running)).toBe(10 + (120_000 - 10) / 10);
  });
});

test("no event source uses more than the account's concurrency", () => {
  expect(Math.max(...flood(standardScaling(), { concurrency: 300 }))).toBe(300);
});
