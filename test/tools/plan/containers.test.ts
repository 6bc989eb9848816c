import { describe, expect, test } from "vitest";
import { averageContainers, containerCost } from "../../../src/tools/plan/containers.ts";
import { pricesOf } from "../../../src/tools/plan/cost.ts";
import { readScenario, type ScenarioInput } from "../../../src/tools/plan/scenario.ts";

const costOf = (containers: ScenarioInput["containers"], prices = {}) => {
  const scenario = readScenario({ containers, prices });
  return containerCost(scenario, pricesOf(scenario));
};

/** By hand: one CPU, 2 GB and a public address. */
const perHour = 0.03238 + 2 * 0.00356 + 0.005;

describe("the cost of container workers", () => {
  test("without tasks they cost nothing", () => {
    expect(costOf({})).toBe(0);
    expect(costOf({ tasksPerDay: 0, minutes: 600 })).toBe(0);
  });

  test("a container that always runs costs 32 dollars a month", () => {
    expect(costOf({ minTasks: 1 })).toBeCloseTo(730 * perHour, 2);
    expect(730 * perHour).toBeCloseTo(32.5, 1);
  });

  test("one task a day of 45 minutes costs about an hour a day", () => {
    expect(costOf({ tasksPerDay: 1, minutes: 45 })).toBeCloseTo(730 * (1 / 24) * perHour, 1);
  });

  test("many tasks cost the hours of their attempts, in full containers", () => {
    // 2,400 tasks of half an hour are 1,200 hours; four at a time are 300 hours a day.
    expect(costOf({ tasksPerDay: 2_400, minutes: 30, concurrency: 4 })).toBeCloseTo((300 / 24) * 730 * perHour, 2);
  });

  test("a larger container costs more, and Spot is a price of the scenario's own", () => {
    const large = { minTasks: 1, cpu: 4096, memoryMiB: 8192 };
    expect(costOf(large)).toBeCloseTo(730 * (4 * 0.03238 + 8 * 0.00356 + 0.005), 2);
    const spot = { fargateCpuHours: 0.01, fargateGbHours: 0.001 };
    expect(costOf(large, spot)).toBeLessThan(costOf(large) / 2);
  });

  test("the number of containers grows with the tasks", () => {
    const { containers } = readScenario({ containers: { minutes: 60, concurrency: 1 } });
    const counts = [1, 10, 100, 1_000].map((tasksPerDay) => averageContainers({ ...containers, tasksPerDay }));
    expect([...counts].sort((a, b) => a - b)).toEqual(counts);
    expect(counts[3]).toBeCloseTo(1_000 / 24, 5);
  });
});
