import { describe, expect, test } from "vitest";
import { Backpressure } from "../../../src/core/limits/backpressure.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import type { Tier } from "../../../src/core/model/tier.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { KeptLog } from "../../support/memory-pipeline.ts";

function setUp() {
  const clock = new FakeClock();
  const log = new KeptLog();
  const depth = { low: 0, critical: 0 } as Record<Tier, number>;
  let reads = 0;
  let fails = false;
  const depths = {
    ofTier: async (tier: Tier) => {
      reads += 1;
      if (fails) throw new PortUnavailable("the queue");
      return { visible: depth[tier] - 1, inFlight: 1, delayed: 0 };
    },
  };
  const pressure = new Backpressure({ clock, log, depths });
  /** Seconds to wait, or undefined when it was let in, and sent. */
  const enter = async (tier: Tier = "low"): Promise<number | undefined> => {
    try {
      await pressure.enter(tier, 100);
      depth[tier] += 1;
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "queue_full") throw error;
      return error.options.retryAfterSeconds;
    }
  };
  const fill = async () => {
    while ((await enter()) === undefined);
  };
  return { clock, depth, pressure, enter, fill, log, reads: () => reads, fail: () => (fails = true) };
}

describe("a tier with a bound", () => {
  test("a tier accepts as many tasks as its bound, although its depth is read only once", async () => {
    const { depth, fill, reads } = setUp();
    await fill();
    expect(depth.low).toBe(100);
    expect(reads()).toBe(1);
  });

  test("a tier is read again before an old reading closes it", async () => {
    const { clock, depth, enter, fill } = setUp();
    for (let count = 0; count < 100; count++) await enter();
    depth.low = 10;
    await clock.advance(2_000);
    expect(await enter()).toBeUndefined();
    await fill();
    expect(depth.low).toBe(100);
  });

  test("a tier is read every five seconds, not for each submit", async () => {
    const { clock, enter, reads } = setUp();
    for (let count = 0; count < 50; count++) {
      await enter();
      await clock.advance(100);
    }
    expect(reads()).toBe(1);
    await clock.advance(100);
    await enter();
    expect(reads()).toBe(2);
  });

  test("a tier closes when other processes have filled it", async () => {
    const { depth, clock, enter } = setUp();
    await enter();
    depth.low = 500;
    await clock.advance(5_000);
    expect(await enter()).toBeGreaterThan(0);
  });

  test("a tier opens again at half its bound, not before", async () => {
    const { clock, depth, enter, fill } = setUp();
    await fill();
    depth.low = 51;
    await clock.advance(2_000);
    expect(await enter()).toBeGreaterThan(0);
    depth.low = 50;
    await clock.advance(2_000);
    expect(await enter()).toBeUndefined();
    depth.low = 60;
    await clock.advance(5_000);
    expect(await enter()).toBeUndefined();
  });

  test("a closed tier says when it will open, by the pace at which it drains", async () => {
    const { clock, depth, enter, fill } = setUp();
    await fill();
    expect(await enter()).toBe(5);
    depth.low = 90;
    await clock.advance(10_000);
    expect(await enter()).toBe(20);
    depth.low = 70;
    await clock.advance(20_000);
    expect(await enter()).toBe(20);
    depth.low = 51;
    await clock.advance(10_000);
    expect(await enter()).toBe(1);
  });

  test("a closed tier asks for a minute at most, however stuck it is", async () => {
    const { clock, enter, fill } = setUp();
    await fill();
    await clock.advance(1_000_000);
    expect(await enter()).toBe(60);
  });

  test("a closed tier does not close another one", async () => {
    const { enter, fill } = setUp();
    await fill();
    expect(await enter("critical")).toBeUndefined();
  });

  test("a tier does not count what was not sent", async () => {
    const { enter, pressure, depth } = setUp();
    for (let count = 0; count < 300; count++) {
      expect(await enter()).toBeUndefined();
      pressure.leave("low");
      depth.low = 0;
    }
  });

  test("a tier stays open when its depth cannot be read", async () => {
    const { enter, fail, log } = setUp();
    fail();
    expect(await enter()).toBeUndefined();
    expect(log.lines).toMatchObject([{ level: "warn" }]);
  });
});
