import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { MovableClock } from "../../src/local/time/movable-clock.ts";
import { startTimelyServer } from "../support/timely-server.ts";

describe("a clock that tests move", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_000_000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("its time is the machine's and what was added to it, and never goes back", () => {
    const clock = new MovableClock(5);
    vi.advanceTimersByTime(10);
    expect(clock.now()).toBe(1_000_015);
    clock.moveTo(60_000);
    clock.moveTo(30_000);
    expect(clock.now()).toBe(1_060_010);
  });

  test("a move calls what became due, in its order, and leaves the rest with the time that is left", () => {
    const clock = new MovableClock();
    const called: string[] = [];
    const call = (name: string, delayMs: number) => clock.after(delayMs, () => void called.push(name));
    call("late", 90_000);
    call("second", 20_000);
    call("first", 10_000);
    const cancel = call("cancelled", 15_000);
    cancel();
    clock.moveTo(60_000);
    expect(called).toEqual(["first", "second"]);
    vi.advanceTimersByTime(29_999);
    expect(called).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(called).toEqual(["first", "second", "late"]);
    clock.moveTo(600_000);
    expect(called).toHaveLength(3);
  });

  test("what is called may cancel what is due after it", () => {
    const clock = new MovableClock();
    const called: string[] = [];
    const cancel = { later: () => {} };
    clock.after(10, () => {
      called.push("first");
      cancel.later();
    });
    cancel.later = clock.after(20, () => void called.push("later"));
    clock.moveTo(1_000);
    expect(called).toEqual(["first"]);
  });
});

describe("a server whose time tests move", () => {
  test("an hour's delay passes in a moment, and the task starts by the server's time", async ({ onTestFinished }) => {
    const server = await startTimelyServer();
    onTestFinished(() => server.stop());
    const { task_id } = await server.operator.submit("probe.echo", { value: 1 }, { delay_seconds: 3_600 });
    await server.pass(3_500);
    expect(await server.operator.task(task_id)).toMatchObject({ status: "scheduled", attempts: 0 });
    const { created_at, started_at } = await server.ended(task_id);
    expect(Date.parse(started_at ?? "") - Date.parse(created_at)).toBeGreaterThanOrEqual(3_600_000);
  });
});
