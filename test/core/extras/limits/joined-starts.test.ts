import { describe, expect, test } from "vitest";
import { JoinedTokens } from "../../../../src/core/extras/limits/rate-list.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { WantedToken } from "../../../../src/core/ports/flow.ts";
import { MemoryWaitQueues } from "../../../../src/memory/wait-queues.ts";

/** A rate of whose writes the test says when they end. */
function setUp() {
  const lines = new MemoryWaitQueues();
  const clock = { now: () => nowMs };
  let nowMs = 1_000;
  const counts: (number | undefined)[] = [];
  const begun: PromiseWithResolvers<void>[] = [];
  const acquireToken = async (line: string, want: WantedToken) => {
    counts.push(want.count);
    const end = Promise.withResolvers<void>();
    begun.push(end);
    await end.promise;
    return lines.acquireToken(line, want);
  };
  const starts = new JoinedTokens();
  const take = (intervalMs: number, more: Partial<WantedToken> = {}) =>
    starts.take({ lines: { acquireToken: acquireToken }, clock }, "rate/a", {
      nowMs: 1_000,
      intervalMs,
      aheadMs: 4_000,
      ...more,
    });
  /** The test ends the running writes, and each write after them. */
  const endAll = async () => {
    for (let turn = 0; turn < 50; turn++) {
      for (const end of begun.splice(0)) end.resolve();
      await Promise.resolve();
    }
  };
  const passMs = (ms: number) => {
    nowMs += ms;
  };
  return { take, counts, begun, endAll, passMs };
}

const after = (from: number, count: number, intervalMs: number) =>
  Array.from({ length: count }, (_, index) => from + index * intervalMs);

describe("the starts of a process", () => {
  test("are taken by one write for all who ask while another one runs", async () => {
    const { take, counts, endAll } = setUp();
    const taken = Array.from({ length: 10 }, () => take(4));
    await endAll();
    expect(await Promise.all(taken)).toEqual(after(1_000, 10, 4));
    expect(counts).toEqual([1, 9]);
    const later = take(4);
    await endAll();
    expect(await later).toBe(1_040);
    expect(counts).toEqual([1, 9, 1]);
  });

  test("are at most 50 ms apart in one write; further ones are taken by others at the same time", async () => {
    const { take, counts, endAll, begun } = setUp();
    const taken = Array.from({ length: 10 }, () => take(20));
    begun.shift()?.resolve();
    await Promise.resolve().then(() => Promise.resolve());
    for (let turn = 0; begun.length < 3 && turn < 20; turn++) await Promise.resolve();
    expect(counts).toEqual([1, 3, 3, 3]);
    await endAll();
    expect((await Promise.all(taken)).map(Number).sort((a, b) => a - b)).toEqual(after(1_000, 10, 20));
  });

  test("are none of the time in which the question waited", async () => {
    const { take, endAll, passMs } = setUp();
    const asked = [take(4), take(4)];
    passMs(700);
    await endAll();
    expect(await Promise.all(asked)).toEqual([1_000, 1_700]);
  });

  test("of a slow rate are a write each, at once", async () => {
    const { take, counts, endAll } = setUp();
    const taken = Array.from({ length: 3 }, () => take(51));
    expect(counts).toEqual([undefined, undefined, undefined]);
    await endAll();
    expect(await Promise.all(taken)).toEqual(after(1_000, 3, 51));
  });

  test("are far away for each of those who ask together", async () => {
    const { take, endAll } = setUp();
    const first = take(4, { nowMs: 9_000 });
    const others = [take(4, { nowMs: 1_000, aheadMs: 10 }), take(4, { nowMs: 1_000, aheadMs: 10 })];
    await endAll();
    expect([await first, ...(await Promise.all(others))]).toEqual([9_000, undefined, undefined]);
  });

  test("are nobody's when the line does not answer, and the next one asks again", async () => {
    const starts = new JoinedTokens();
    const clock = { now: () => 1_000 };
    let isDown = true;
    const acquireToken = () => (isDown ? Promise.reject(new PortUnavailable("the table")) : Promise.resolve(7));
    const take = () =>
      starts.take({ lines: { acquireToken: acquireToken }, clock }, "rate/a", {
        nowMs: 1_000,
        intervalMs: 4,
        aheadMs: 4_000,
      });
    const asked = await Promise.allSettled([take(), take(), take()]);
    expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    isDown = false;
    expect(await take()).toBe(7);
  });
});
