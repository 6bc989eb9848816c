import { describe, expect, test } from "vitest";
import { MetricStore } from "../../src/local/cloudwatch/metric-store.ts";
import { FakeClock } from "../../src/memory/clock.ts";

function setUp() {
  const clock = new FakeClock();
  const store = new MetricStore(clock);
  const minute = () => Math.floor(clock.now() / 60_000) * 60;
  const add = (name: string, ...values: number[]) => store.add([{ name, tier: "low", values }]);
  const values = (name: string, stat: string, from: number, to: number, period = 60) =>
    store.values({ ...{ name, tier: "low", stat, from, to, period } });
  return { clock, store, minute, add, values };
}

describe("local measurements", () => {
  test("are sums of periods, of one metric and tier, oldest first", async () => {
    const { clock, store, minute, add, values } = setUp();
    const start = Math.floor(minute() / 120) * 120;
    await clock.advance(start * 1000 + 120_000 - clock.now());
    const from = minute();
    add("submitted", 1, 2);
    add("failed", 100);
    store.add([{ name: "submitted", tier: "high", values: [50] }]);
    await clock.advance(60_000);
    add("submitted", 4);
    await clock.advance(180_000);
    add("submitted", 8);
    expect(values("submitted", "Sum", from, from + 600, 60)).toEqual([
      [from, 3],
      [from + 60, 4],
      [from + 240, 8],
    ]);
    expect(values("submitted", "Sum", from, from + 600, 120)).toEqual([
      [from, 7],
      [from + 240, 8],
    ]);
    expect(values("submitted", "Sum", from + 60, from + 120)).toEqual([[from + 60, 4]]);
    expect(values("completed", "Sum", from, from + 600)).toEqual([]);
  });

  test("have percentiles, over all minutes of a period", async () => {
    const { clock, minute, add, values } = setUp();
    const from = minute();
    add("queue_wait_ms", ...Array.from({ length: 50 }, (_, index) => index + 51));
    await clock.advance(60_000);
    add("queue_wait_ms", ...Array.from({ length: 50 }, (_, index) => index + 1));
    expect(values("queue_wait_ms", "p50", from, from + 120, 120)).toEqual([[from, 50]]);
    expect(values("queue_wait_ms", "p95", from, from + 120, 120)).toEqual([[from, 95]]);
    expect(values("queue_wait_ms", "p95", from, from + 60)).toEqual([[from, 98]]);
  });

  test("have percentiles of the first 500 values of a minute, and sums of all", () => {
    const { minute, add, values } = setUp();
    const from = minute();
    for (let times = 0; times < 5; times++) add("processing_ms", ...Array.from({ length: 100 }, () => 10));
    add("processing_ms", ...Array.from({ length: 1_000 }, () => 1));
    expect(values("processing_ms", "p50", from, from + 60)).toEqual([[from, 10]]);
    expect(values("processing_ms", "Sum", from, from + 60)).toEqual([[from, 6_000]]);
  });

  test("are forgotten after a day", async () => {
    const { clock, minute, add, values } = setUp();
    const from = minute();
    add("submitted", 1);
    await clock.advance(24 * 3_600_000);
    add("submitted", 2);
    expect(values("submitted", "Sum", from, from + 86_460)).toEqual([
      [from, 1],
      [from + 86_400, 2],
    ]);
    await clock.advance(60_000);
    add("submitted", 4);
    expect(values("submitted", "Sum", from, from + 60)).toEqual([]);
  });
});
