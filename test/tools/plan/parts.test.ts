import { describe, expect, test } from "vitest";
import { type ArrivalRates, type Burst, knownArrivals, randomArrivals } from "../../../src/tools/plan/arrivals.ts";
import { Backlog } from "../../../src/tools/plan/backlog.ts";
import { Durations, normalQuantile } from "../../../src/tools/plan/durations.ts";
import { PerSecond } from "../../../src/tools/plan/gauges.ts";
import { EventHeap } from "../../../src/tools/plan/heap.ts";
import { Histogram } from "../../../src/tools/plan/histogram.ts";
import { seededRandom } from "../../../src/tools/plan/random.ts";
import fc from "../../support/fast-check.ts";

const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
const times = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { maxLength: 3_000 });

function* until<T>(next: () => number, take: () => T): Generator<T> {
  while (next() !== Number.POSITIVE_INFINITY) yield take();
}

test("the heap returns events in the order of their times, each with its code and value", () => {
  fc.assert(
    fc.property(times, (given) => {
      const heap = new EventHeap();
      for (const [code, time] of given.entries()) heap.push(time, code, time * 2);
      const taken = [
        ...until(
          () => heap.time,
          () => {
            const { time, code, value } = heap;
            heap.pop();
            return { time, code, value };
          },
        ),
      ];
      expect(taken.map(({ time }) => time)).toEqual(sorted(given));
      for (const { time, code, value } of taken)
        expect({ time, value }).toEqual({ time: given[code], value: time * 2 });
      expect(heap.size).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test("the backlog is first in, first out, however it grows and shrinks", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 5_000 }), (steps) => {
      const backlog = new Backlog();
      const expected: { since: number; attempts: number }[] = [];
      for (const [index, push] of steps.entries()) {
        if (push || expected.length === 0) {
          expected.push({ since: index, attempts: index % 20 });
          backlog.push(index, index % 20);
        } else {
          expect({ since: backlog.since, attempts: backlog.attempts }).toEqual(expected.shift());
          backlog.shift();
        }
        expect(backlog.size).toBe(expected.length);
      }
    }),
    { numRuns: 30 },
  );
});

describe("the histogram", () => {
  test("percentiles are within 1.2 % of the exact ones", () => {
    const random = seededRandom(7);
    const values = Array.from({ length: 20_000 }, () => Math.exp(random() * 12 - 4));
    const histogram = new Histogram();
    for (const value of values) histogram.add(value);
    for (const share of [0.01, 0.5, 0.9, 0.99]) {
      const exact = sorted(values)[Math.ceil(share * values.length) - 1] ?? 0;
      expect(Math.abs(histogram.quantile(share) / exact - 1), `${share}`).toBeLessThan(0.012);
    }
    expect(histogram.count).toBe(values.length);
  });

  test("a wait of 0 differs from a short one, and waits beyond the end are counted", () => {
    const histogram = new Histogram();
    for (const seconds of [0, 0, 0, 0.0005, 1e12]) histogram.add(seconds);
    expect(histogram.quantile(0.8)).toBe(0);
    expect(histogram.quantile(1)).toBeGreaterThan(1e6);
    histogram.clear();
    expect(histogram.quantile(0.5)).toBe(0);
    expect(histogram.meanSeconds).toBe(0);
  });
});

describe("durations", () => {
  test("durations have the given median and 99th percentile", () => {
    const durations = new Durations({ p50Ms: 200, p99Ms: 3_000 });
    const random = seededRandom(3);
    const drawn = sorted(Array.from({ length: 100_000 }, () => durations.draw(random)));
    expect(drawn[50_000]).toBeCloseTo(0.2, 2);
    expect(Math.abs((drawn[99_000] ?? 0) / 3 - 1)).toBeLessThan(0.06);
    const mean = drawn.reduce((sum, seconds) => sum + seconds, 0) / drawn.length;
    expect(Math.abs(mean / durations.meanSeconds - 1)).toBeLessThan(0.02);
  });

  test("durations are constant when both are the same", () => {
    const durations = new Durations({ p50Ms: 250, p99Ms: 250 });
    const random = seededRandom(1);
    for (let draw = 0; draw < 100; draw++) expect(durations.draw(random)).toBe(0.25);
  });

  test.each([
    [0.5, 0],
    [0.975, 1.959964],
    [0.001, -3.090232],
    [0.99, 2.326348],
  ])("the normal distribution's quantile of %f is %f", (p, quantile) => {
    expect(normalQuantile(p)).toBeCloseTo(quantile, 5);
  });
});

describe("arrivals", () => {
  const all = (
    given: Omit<ArrivalRates, "batchSize" | "bursts"> & { bursts: Omit<Burst, "batchSize">[] },
    seed = 1,
  ) => {
    const rates = { ...given, batchSize: 1, bursts: given.bursts.map((burst) => ({ ...burst, batchSize: 1 })) };
    const arrivals = randomArrivals(rates, seededRandom(seed));
    const came: { time: number; tier: string | undefined }[] = [];
    for (let time = arrivals.next(); time !== Number.POSITIVE_INFINITY; time = arrivals.next()) {
      came.push({ time, tier: arrivals.tier });
    }
    return came;
  };
  /** A count that comes by chance stays within four standard deviations. */
  const about = (count: number, expected: number) =>
    expect(Math.abs(count - expected)).toBeLessThan(4 * Math.sqrt(expected) + 1);

  test("arrivals follow a curve, each rate for its part of the time", () => {
    const came = all({ seconds: 300, tasksPerSecond: [10, 0, 50], bursts: [] });
    about(came.filter(({ time }) => time < 100).length, 1_000);
    expect(came.filter(({ time }) => time >= 100 && time < 200)).toEqual([]);
    about(came.filter(({ time }) => time >= 200).length, 5_000);
    expect(came.every(({ time }, index) => time >= (came[index - 1]?.time ?? 0) && time < 300)).toBe(true);
  });

  test("bursts are added, in their own tier, also after the end", () => {
    const bursts = [
      { atSeconds: 50, tasks: 3_000, overSeconds: 10, tier: "low" as const },
      { atSeconds: 95, tasks: 1_000, overSeconds: 10 },
    ];
    const came = all({ seconds: 100, tasksPerSecond: [5], bursts });
    about(came.filter(({ tier }) => tier === "low").length, 3_000);
    about(came.filter(({ time, tier }) => tier === undefined && time >= 95).length, 1_000 + 25);
    expect(came.every(({ time, tier }) => tier !== "low" || (time >= 50 && time < 60))).toBe(true);
  });

  test("known times come in their order, and end", () => {
    const arrivals = knownArrivals([3, 1, 2]);
    expect([arrivals.next(), arrivals.next(), arrivals.next(), arrivals.next()]).toEqual([1, 2, 3, Infinity]);
  });

  test("the same seed gives the same tasks, and another seed gives others", () => {
    const rates = { seconds: 10, tasksPerSecond: [10], bursts: [] };
    expect(all(rates, 5)).toEqual(all(rates, 5));
    expect(all(rates, 5)).not.toEqual(all(rates, 6));
  });
});

test("a gauge keeps the highest second, and that of each minute", () => {
  const gauge = new PerSecond();
  gauge.add(0.5, 3);
  gauge.add(0.9, 4);
  gauge.add(61, 5);
  gauge.add(190, 2);
  expect(gauge.total).toBe(14);
  expect(gauge.peak).toEqual({ count: 7, atSeconds: 0 });
  expect(gauge.minutes).toEqual([7, 5, 0, 2]);
});
