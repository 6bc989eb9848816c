import { expect, test } from "vitest";
import { MetricStore } from "../../src/local/metric-store.ts";
import { FakeClock } from "../../src/memory/clock.ts";

const startMs = Date.parse("2027-01-01T00:00:00Z");

test("sums and percentiles are of each period with measurements", async () => {
  const clock = new FakeClock(startMs);
  const store = new MetricStore(clock);
  const one = (...values: number[]) => store.add([{ name: "queue_wait_ms", tier: "high", values }]);
  one(10, 20, 30);
  one(40);
  await clock.advance(180_000);
  one(100);
  const span = { name: "queue_wait_ms", tier: "high", from: startMs / 1000, to: startMs / 1000 + 600, period: 120 };
  expect(store.values({ ...span, stat: "Sum" })).toEqual([
    [startMs / 1000, 100],
    [startMs / 1000 + 120, 100],
  ]);
  expect(store.values({ ...span, stat: "p50" })[0]).toEqual([startMs / 1000, 20]);
  expect(store.values({ ...span, stat: "p95" })[0]).toEqual([startMs / 1000, 40]);
  expect(store.values({ ...span, stat: "Sum", tier: "low" })).toEqual([]);
});

test("a day is kept, and a bounded number of values of each minute", async () => {
  const clock = new FakeClock(startMs);
  const store = new MetricStore(clock);
  store.add([{ name: "completed", tier: "low", values: Array.from({ length: 2_000 }, () => 1) }]);
  const span = { name: "completed", tier: "low", from: startMs / 1000, to: startMs / 1000 + 200_000, period: 60 };
  expect(store.values({ ...span, stat: "Sum" })).toEqual([[startMs / 1000, 2_000]]);
  await clock.advance(25 * 3_600_000);
  store.add([{ name: "completed", tier: "low", values: [1] }]);
  expect(store.values({ ...span, stat: "Sum" })).toEqual([[startMs / 1000 + 25 * 3_600, 1]]);
});
