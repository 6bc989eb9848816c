import { describe, expect, test, vi } from "vitest";
import { Backpressure } from "../../../src/core/limits/backpressure.ts";
import { refusedSince } from "../../../src/core/limits/refusals.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import type { Tier } from "../../../src/core/model/words.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { KeptLog } from "../../support/kept.ts";

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
  const records = new MemoryRecords();
  const pressure = new Backpressure({ clock, log, depths, records });
  /** Seconds to wait, or undefined when it was let in, and sent. */
  const admit = async (tier: Tier = "low"): Promise<number | undefined> => {
    try {
      await pressure.admit(tier, 100);
      depth[tier] += 1;
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "queue_full") throw error;
      return error.options.retryAfterSeconds;
    }
  };
  const fill = async () => {
    while ((await admit()) === undefined);
  };
  return { clock, depth, records, pressure, admit, fill, log, reads: () => reads, fail: () => (fails = true) };
}

describe("a tier with a bound", () => {
  test("a tier accepts as many tasks as its bound, although its depth is read only once", async () => {
    const { depth, fill, reads } = setUp();
    await fill();
    expect(depth.low).toBe(100);
    expect(reads()).toBe(1);
  });

  test("a tier is read again before an old reading closes it", async () => {
    const { clock, depth, admit, fill } = setUp();
    for (let count = 0; count < 100; count++) await admit();
    depth.low = 10;
    await clock.advance(2_000);
    expect(await admit()).toBeUndefined();
    await fill();
    expect(depth.low).toBe(100);
  });

  test("a tier is read every five seconds, not for each submit", async () => {
    const { clock, admit, reads } = setUp();
    for (let count = 0; count < 50; count++) {
      await admit();
      await clock.advance(100);
    }
    expect(reads()).toBe(1);
    await clock.advance(100);
    await admit();
    expect(reads()).toBe(2);
  });

  test("a tier closes when other processes have filled it", async () => {
    const { depth, clock, admit } = setUp();
    await admit();
    depth.low = 500;
    await clock.advance(5_000);
    expect(await admit()).toBeGreaterThan(0);
  });

  test("a tier opens again at half its bound, not before", async () => {
    const { clock, depth, admit, fill } = setUp();
    await fill();
    depth.low = 51;
    await clock.advance(2_000);
    expect(await admit()).toBeGreaterThan(0);
    depth.low = 50;
    await clock.advance(2_000);
    expect(await admit()).toBeUndefined();
    depth.low = 60;
    await clock.advance(5_000);
    expect(await admit()).toBeUndefined();
  });

  test("a closed tier says when it will open, by the pace at which it drains", async () => {
    const { clock, depth, admit, fill } = setUp();
    await fill();
    expect(await admit()).toBe(5);
    depth.low = 90;
    await clock.advance(10_000);
    expect(await admit()).toBe(20);
    depth.low = 70;
    await clock.advance(20_000);
    expect(await admit()).toBe(20);
    depth.low = 51;
    await clock.advance(10_000);
    expect(await admit()).toBe(1);
  });

  test("a closed tier asks for a minute at most, however stuck it is", async () => {
    const { clock, admit, fill } = setUp();
    await fill();
    await clock.advance(1_000_000);
    expect(await admit()).toBe(60);
  });

  test("a closed tier does not close another one", async () => {
    const { admit, fill } = setUp();
    await fill();
    expect(await admit("critical")).toBeUndefined();
  });

  test("a tier does not count what was not sent", async () => {
    const { admit, pressure, depth } = setUp();
    for (let count = 0; count < 300; count++) {
      expect(await admit()).toBeUndefined();
      pressure.leave("low");
      depth.low = 0;
    }
  });

  test("a tier stays open when its depth cannot be read", async () => {
    const { admit, fail, log } = setUp();
    fail();
    expect(await admit()).toBeUndefined();
    expect(log.lines).toMatchObject([{ level: "warn" }]);
  });
});

describe("what operators see of a tier that is full", () => {
  const at = (seconds: number) => new Date(Date.UTC(2027, 0, 1, 0, 0, seconds)).toISOString();

  test("it refuses since its first refusal, while submits come, and for two minutes more", async () => {
    const { clock, depth, records, admit, fill } = setUp();
    const since = (tier: Tier = "low") => refusedSince({ records, clock }, tier);
    expect(await since()).toBeUndefined();
    await fill();
    for (let minute = 0; minute < 10; minute++) {
      expect([await since(), await since("critical")]).toEqual([at(0), undefined]);
      await clock.advance(60_000);
      await admit();
    }
    depth.low = 0;
    await clock.advance(119_000);
    expect([await admit(), await since()]).toEqual([undefined, at(0)]);
    await clock.advance(1_000);
    expect(await since()).toBeUndefined();
    await fill();
    expect(await since()).toBe(at(720));
  });

  test("other processes go on with its time, and a refusal costs one read and one write in 15 seconds", async () => {
    const { clock, log, records, fill, depth } = setUp();
    await fill();
    const [loads, saves] = [vi.spyOn(records, "loadPart"), vi.spyOn(records, "savePart")];
    const depths = { ofTier: async (tier: Tier) => ({ visible: depth[tier], inFlight: 0, delayed: 0 }) };
    const other = new Backpressure({ clock, log, depths, records });
    await clock.advance(30_000);
    for (let second = 0; second < 30; second++) {
      await expect(other.admit("low", 100)).rejects.toMatchObject({ code: "queue_full" });
      await clock.advance(1_000);
    }
    expect([loads.mock.calls.length, saves.mock.calls.length]).toEqual([2, 2]);
    expect(await refusedSince({ records, clock }, "low")).toBe(at(0));
  });

  test("a table that does not answer changes no refusal", async () => {
    const { clock, log, depth } = setUp();
    depth.low = 100;
    const down = () => Promise.reject(new PortUnavailable("the table"));
    const depths = { ofTier: async (tier: Tier) => ({ visible: depth[tier], inFlight: 0, delayed: 0 }) };
    const pressure = new Backpressure({ clock, log, depths, records: { loadPart: down, savePart: down } });
    await expect(pressure.admit("low", 100)).rejects.toMatchObject({ code: "queue_full" });
    expect(JSON.stringify(log)).toContain("could not store that a tier is full");
  });
});
