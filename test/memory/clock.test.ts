import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/memory/clock.ts";

describe("the clock of tests", () => {
  test("the clock stands still until it is moved", async () => {
    const clock = new FakeClock(1_000);
    await turn();
    expect(clock.now()).toBe(1_000);
    await clock.advance(500);
    expect(clock.now()).toBe(1_500);
  });

  test("timers fire in the order of their times, each at its own", async () => {
    const clock = new FakeClock(0);
    const rung: [string, number][] = [];
    for (const [name, ms] of [
      ["c", 30],
      ["a", 10],
      ["b", 10],
      ["past", -5],
      ["later", 31],
    ] as const) {
      clock.after(ms, () => rung.push([name, clock.now()]));
    }
    expect(clock.nextTimer()).toBe(0);
    await clock.advance(30);
    expect(rung).toEqual([
      ["past", 0],
      ["a", 10],
      ["b", 10],
      ["c", 30],
    ]);
    expect(clock.nextTimer()).toBe(31);
  });

  test("a timer that is set while the clock moves fires if it is due", async () => {
    const clock = new FakeClock(0);
    const rung: number[] = [];
    const again = () => {
      rung.push(clock.now());
      clock.after(10, again);
    };
    clock.after(10, again);
    await clock.advance(35);
    expect(rung).toEqual([10, 20, 30]);
  });

  test("a stopped timer does not fire", async () => {
    const clock = new FakeClock(0);
    let rung = false;
    const stop = clock.after(10, () => {
      rung = true;
    });
    stop();
    stop();
    await clock.advance(100);
    expect([rung, clock.nextTimer()]).toEqual([false, undefined]);
  });

  test("promises continue between two timers", async () => {
    const clock = new FakeClock(0);
    const order: string[] = [];
    clock.after(10, () => {
      order.push("first timer");
      void Promise.resolve()
        .then(() => Promise.resolve())
        .then(() => order.push("promise"));
    });
    clock.after(20, () => order.push("second timer"));
    await clock.advance(20);
    expect(order).toEqual(["first timer", "promise", "second timer"]);
  });
});
