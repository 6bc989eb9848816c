import { describe, expect, test, vi } from "vitest";
import { reschedule } from "../../../src/core/control/change-waiting.ts";
import { runNow } from "../../../src/core/control/run-now.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

/** A pipeline that notes the starts of attempts, in seconds since its beginning. */
function setUp(failures = 0) {
  const starts: number[] = [];
  let left = failures;
  const type = typeOf(
    () => {
      starts.push((pipeline.clock.now() - began) / 1000);
      if (left-- > 0) throw new Error("try again");
    },
    { retry: { waitsSeconds: [600], jitter: "none" } },
  );
  const pipeline = memoryPipeline([type]);
  const began = pipeline.clock.now();
  const move = async (record: { tenant_id: string; task_id: string }, seconds: number, mayMoveRetry = true) =>
    reschedule(pipeline.ports, await pipeline.recordOf(record), began + seconds * 1000, mayMoveRetry);
  return { ...pipeline, starts, move, began };
}

const day = 86_400;

describe("a task that waits for its start", () => {
  test.each([
    ["later, within SQS's delays", 300, 900],
    ["later, over SQS's delays", 300, 2 * day],
    ["later, from one long wait to another", day, 3 * day],
    ["earlier", 900, 300],
    ["earlier, from a long wait to a short one", 2 * day, 300],
    ["earlier, from one long wait to another", 3 * day, day],
  ])("starts %s, once, and never at the old time", async (_, from, to) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: from });
    const moved = await pipeline.move(record, to);
    expect(moved).toMatchObject({ status: "pending", due_at: iso(pipeline.began + to * 1000), run_at: moved.due_at });
    await pipeline.drain();
    expect(pipeline.starts).toHaveLength(1);
    expect(pipeline.starts[0]).toBeGreaterThanOrEqual(to);
    expect(pipeline.starts[0]).toBeLessThanOrEqual(to + 60);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("keeps the time of a later call when a write of an earlier one comes late once more", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 600 });
    const write = vi.spyOn(pipeline.records, "change");
    await pipeline.clock.advance(1_000);
    await pipeline.move(record, 300);
    const late = write.mock.calls.at(-1);
    await pipeline.clock.advance(1_000);
    await pipeline.move(record, 600);
    if (late === undefined) throw new Error("the move wrote nothing");
    expect(await pipeline.records.change(...late)).toMatchObject({ done: false });
    await pipeline.drain();
    expect(pipeline.starts[0]).toBeGreaterThanOrEqual(600);
  });

  test("may be moved again and again, in both directions", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 600 });
    for (const to of [1_800, 300, 7_200, 900, 60, 3_600]) await pipeline.move(record, to);
    await pipeline.drain();
    expect(pipeline.starts).toEqual([3_600]);
  });

  test.each([
    ["within a second", [1_800.358, 1_800.356]],
    ["away and back", [3_600, 1_800, 7_200, 1_800]],
  ])("starts when it was moved %s", async (_, times) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: day });
    for (const to of times) await pipeline.move(record, to);
    await pipeline.drain();
    expect(pipeline.starts).toHaveLength(1);
    expect(pipeline.starts[0]).toBeGreaterThanOrEqual(times.at(-1) ?? 0);
    expect(pipeline.starts[0]).toBeLessThanOrEqual((times.at(-1) ?? 0) + 60);
  });

  test("starts when another move meets it before the first one has ended", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: day });
    const before = await pipeline.move(record, 7_200);
    const { create } = pipeline.ports.oneOffs;
    // The second move goes back to the time at which the first one found the task.
    vi.spyOn(pipeline.ports.oneOffs, "create").mockImplementationOnce(async (oneOff) => {
      await create.call(pipeline.ports.oneOffs, oneOff);
      await pipeline.move(record, 7_200);
    });
    await reschedule(pipeline.ports, before, pipeline.began + 3_600_000, true);
    await pipeline.drain();
    expect(pipeline.starts).toEqual([7_200]);
  });

  test("starts now when the new time has passed", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 600 });
    await pipeline.move(record, -60);
    await pipeline.drain();
    expect(pipeline.starts).toEqual([0]);
  });

  test("has as long to start as before, counted from the new time, and is kept for as long after it", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 600, expires_in_seconds: 60 });
    const moved = await pipeline.move(record, 200 * day);
    expect(moved.start_by).toBe(iso(pipeline.began + (200 * day + 60) * 1000));
    expect(moved).toMatchObject({ expires_at: moved.start_by, purge_at: record.purge_at + 200 * day - 600 });
    expect(await pipeline.move(record, 300)).toMatchObject({ start_by: iso(pipeline.began + 360_000) });
  });

  test("has another message when the same call comes again after a death before the first one was sent", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 900 });
    vi.spyOn(pipeline.ports.queues, "send").mockRejectedValueOnce(new PortUnavailable("SQS", new Error("down")));
    await expect(pipeline.move(record, 300)).rejects.toThrow(PortUnavailable);
    await pipeline.move(record, 300);
    await pipeline.drain();
    expect(pipeline.starts).toEqual([300]);
  });

  test("cannot be moved to an earlier time when nobody can read its message yet, but to a later one", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { text: "x".repeat(2_000) }, delay_seconds: 4 });
    await expect(pipeline.move(record, 2)).rejects.toMatchObject({ code: "not_waiting" });
    await pipeline.move(record, 120);
    await pipeline.drain();
    expect(pipeline.starts).toEqual([121]);
  });
});

describe("a task that waits for its next attempt", () => {
  test("is moved for an operator only", async () => {
    const pipeline = setUp(1);
    const record = await pipeline.accept({ input: { n: 1 } });
    await pipeline.work(record.priority);
    await expect(pipeline.move(record, 1_200, false)).rejects.toMatchObject({ code: "not_waiting" });
    const moved = await pipeline.move(record, 1_200);
    expect(moved).toMatchObject({ due_at: iso(pipeline.began + 1_200_000), attempts: 1 });
    expect(moved.run_at).toBeUndefined();
    await pipeline.drain();
    // The message of the old time was put back until a second after the new one.
    expect(pipeline.starts).toEqual([0, 1_201]);
  });
});

test.each(["is due", "has ended", "sleeps", "waits for a signal"])("a task that %s is not_waiting", async (state) => {
  const type = typeOf(async (_, task) => {
    if (state === "sleeps") await task.sleep(3_600);
    if (state === "waits for a signal") await task.waitFor("go", { timeoutSeconds: 3_600 });
  });
  const pipeline = memoryPipeline([type]);
  const record = await pipeline.accept({ input: { n: 1 } });
  if (state !== "is due") await pipeline.work(record.priority);
  const moving = reschedule(pipeline.ports, await pipeline.recordOf(record), pipeline.clock.now() + 60_000, true);
  await expect(moving).rejects.toMatchObject({ code: "not_waiting" });
});

describe("an end of a sleep by run-now", () => {
  const sleeper = (handler: Parameters<typeof typeOf>[0]) => {
    const pipeline = memoryPipeline([typeOf(handler)]);
    const wake = async (key: { tenant_id: string; task_id: string }) => {
      const { endSleep } = await import("../../../src/core/control/run-now.ts");
      return runNow(pipeline.ports, await pipeline.recordOf(key), (record) => endSleep(pipeline.ports, record));
    };
    return { ...pipeline, wake };
  };

  test("goes on at once, sleeps no second time, and a later sleep lasts", async () => {
    const times: number[] = [];
    const pipeline = sleeper(async (_, task) => {
      await task.sleep(7 * day);
      times.push(pipeline.clock.now());
      await task.sleep(3_600);
      return pipeline.clock.now();
    });
    const began = pipeline.clock.now();
    const record = await pipeline.accept({ input: { n: 1 } });
    await pipeline.work(record.priority);
    await pipeline.clock.advance(1_000);
    expect(await pipeline.wake(record)).toMatchObject({ status: "pending", attempts: 0 });
    expect(pipeline.ports.oneOffs.all().size).toBe(0);
    await pipeline.work(record.priority);
    expect(times.at(-1)).toBe(began + 1_000);
    expect(await pipeline.recordOf(record)).toMatchObject({ waiting_for: { kind: "sleep" } });
    await pipeline.clock.advance(3_600_000);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: began + 3_601_000 });
  });

  test("ends of two sleeps at once the earlier one", async () => {
    const ended: string[] = [];
    const pipeline = sleeper(async (_, task) => {
      const nap = async (seconds: number) => {
        await task.sleep(seconds);
        ended.push(String(seconds));
      };
      await Promise.all([nap(2 * day), nap(day)]);
    });
    const record = await pipeline.accept({ input: { n: 1 } });
    await pipeline.work(record.priority);
    await pipeline.wake(record);
    await pipeline.work(record.priority);
    expect(ended.at(-1)).toBe(String(day));
    await pipeline.wake(record);
    await pipeline.work(record.priority);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("is made whole by a repeat after a death at any point", async () => {
    for (const step of ["add", "change", "send"] as const) {
      const pipeline = sleeper(async (_, task) => {
        await task.sleep(day);
        return "awake";
      });
      const record = await pipeline.accept({ input: { n: 1 } });
      await pipeline.work(record.priority);
      const { steps, records, queues } = pipeline.ports;
      const down = new PortUnavailable("AWS", new Error("down"));
      const died = { add: [steps, "add"], change: [records, "change"], send: [queues, "send"] } as const;
      const [port, method] = died[step];
      vi.spyOn(port as typeof queues, method as "send").mockRejectedValueOnce(down);
      await expect(pipeline.wake(record)).rejects.toThrow(PortUnavailable);
      await pipeline.clock.advance(1_000);
      await pipeline.wake(record);
      await pipeline.work(record.priority);
      expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: "awake" });
    }
  });
});
