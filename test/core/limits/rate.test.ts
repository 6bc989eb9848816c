import { describe, expect, test } from "vitest";
import { type Rate, RateLimiter } from "../../../src/core/limits/rate.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";

/** So many processes that share one count. */
function setUp(processes = 1) {
  const clock = new FakeClock();
  const usage = new MemoryUsage();
  const limiters = Array.from({ length: processes }, () => new RateLimiter({ clock, usage }));
  /** Seconds to wait, or undefined when it was let in. */
  const ask = async (rate: Rate, tenantId = "acme", limiter = limiters[0]): Promise<number | undefined> => {
    try {
      await limiter?.take(tenantId, rate);
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "rate_limited") throw error;
      return error.options.retryAfterSeconds;
    }
  };
  return { clock, usage, limiters, ask };
}

const twenty = { perSecond: 20, burst: 20 };

describe("a tenant's rate", () => {
  test("exactly the burst is let in at once", async () => {
    const { ask } = setUp();
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(twenty)));
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(20);
  });

  test("callers that ask at the same time are counted together", async () => {
    const { ask, usage } = setUp();
    await Promise.all(Array.from({ length: 200 }, () => ask(twenty)));
    expect(usage.writes).toBeLessThanOrEqual(3);
  });

  test("each refused caller gets its own turn", async () => {
    const { ask } = setUp();
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(twenty)));
    const waits = answers.filter((answer) => answer !== undefined);
    expect(Math.min(...waits)).toBe(1);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10);
    for (let second = 1; second <= 9; second++) expect(waits.filter((wait) => wait === second).length).toBeLessThan(25);
  });

  test("all 200 are in within twelve seconds when they obey", async () => {
    const { ask, clock } = setUp();
    let waiting = Array.from({ length: 200 }, () => 0);
    let seconds = 0;
    for (; waiting.length > 0; seconds++) {
      const answers = await Promise.all(waiting.map(async (until) => (until > seconds ? until : await again(seconds))));
      waiting = answers.filter((until) => until !== undefined);
      await clock.advance(1000);
    }
    expect(seconds).toBeLessThanOrEqual(12);
    async function again(now: number) {
      const wait = await ask(twenty);
      return wait === undefined ? undefined : now + wait;
    }
  });

  test("no caller is told to wait longer than ten seconds, however many ask", async () => {
    const { ask } = setUp();
    let longest = 0;
    for (let count = 0; count < 2_000; count++) longest = Math.max(longest, (await ask(twenty)) ?? 0);
    expect(longest).toBe(10);
  });

  test("a rate of less than one a second is kept, too", async () => {
    const { ask, clock } = setUp();
    const slow = { perSecond: 0.1, burst: 1 };
    expect(await ask(slow)).toBeUndefined();
    expect(await ask(slow)).toBe(10);
    await clock.advance(10_000);
    expect(await ask(slow)).toBeUndefined();
  });

  test("each tenant has its own rate", async () => {
    const { ask } = setUp();
    for (let count = 0; count < 50; count++) await ask(twenty);
    expect(await ask(twenty, "globex")).toBeUndefined();
  });

  test("a token that is given back does not count", async () => {
    const { ask, limiters } = setUp();
    for (let count = 0; count < 100; count++) {
      expect(await ask(twenty)).toBeUndefined();
      limiters[0]?.giveBack("acme");
    }
  });
});

describe("many processes together", () => {
  /** Asks so often a second, spread over the processes, and gives what came of it. */
  async function load(processes: number, rate: Rate, asksPerSecond: number, seconds: number) {
    const { ask, clock, limiters, usage } = setUp(processes);
    let admitted = 0;
    let asked = 0;
    for (let ms = 0; ms < seconds * 1000; ms += 5) {
      await clock.advance(5);
      for (; asked < (asksPerSecond * ms) / 1000; asked++) {
        if ((await ask(rate, "acme", limiters[(asked * 7919) % processes])) === undefined) admitted += 1;
      }
    }
    return { admitted, asked, writes: usage.writes };
  }

  test.each([
    [1, 20, 200],
    [5, 20, 100],
    [10, 200, 1_000],
    [30, 500, 600],
    [30, 1_000, 3_000],
  ])("%i processes keep a rate of %i a second under %i within a tenth", async (processes, perSecond, asks) => {
    const seconds = 8;
    const rate = { perSecond, burst: perSecond };
    const { admitted } = await load(processes, rate, asks, seconds);
    const allowed = rate.burst + perSecond * seconds;
    const expected = Math.min(allowed, asks * seconds);
    expect(admitted).toBeLessThanOrEqual(allowed);
    expect(admitted).toBeGreaterThan(expected * 0.9);
  });

  test.each([
    [1, 200, 150],
    [10, 500, 400],
    [20, 1_000, 900],
    [10, 500, 5_000],
  ])(
    "%i processes under a limit of %i and a load of %i write less than 0.1 times a submit",
    async (processes, perSecond, asks) => {
      const { asked, writes } = await load(processes, { perSecond, burst: perSecond }, asks, 8);
      expect(writes / asked).toBeLessThan(0.1);
    },
  );
});
