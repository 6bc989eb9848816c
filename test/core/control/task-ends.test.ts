import { randomUUID } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { TaskEnds } from "../../../src/core/control/task-ends.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import type { TaskKey } from "../../../src/core/model/record.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { newRecord } from "../../support/records.ts";

/** Tasks in memory, and those who wait for their ends. */
function waiting() {
  const clock = new FakeClock();
  const records = new MemoryRecords();
  const read = vi.spyOn(records, "getMany");
  const within: number[] = [];
  let apart = 0;
  const ends = new TaskEnds({
    clock,
    records,
    callTime: {
      within: (ms, work) => {
        within.push(ms);
        return work();
      },
      apart: (work) => {
        apart += 1;
        return work();
      },
    },
  });
  const now = () => new Date(clock.now()).toISOString();
  const add = async (): Promise<TaskKey> => {
    const record = newRecord({ task_id: randomUUID() });
    await records.create(record, now());
    return record;
  };
  const end = (key: TaskKey) => records.change(key, { when: {}, set: { status: "completed", finished_at: now() } });
  /** The time at which a wait ended, and how. */
  const wait = (key: TaskKey, seconds: number) => {
    const startedMs = clock.now();
    const outcome: { afterMs?: number; status?: string | undefined } = {};
    void ends.wait(key, startedMs + seconds * 1000).then((ended) => {
      outcome.afterMs = clock.now() - startedMs;
      outcome.status = ended === undefined ? "not read" : (ended.record?.status ?? "gone");
    });
    return outcome;
  };
  return { clock, records, read, within, add, end, wait, apartOf: () => apart };
}

describe("waiting for the end of a task", () => {
  test("a wait ends within half a second of the task's end", async () => {
    const { clock, add, end, wait } = waiting();
    const task = await add();
    const outcome = wait(task, 20);
    await clock.advance(7_300);
    expect(outcome).toEqual({});
    await end(task);
    await clock.advance(500);
    expect(outcome).toEqual({ afterMs: 7_500, status: "completed" });
  });

  test("a wait ends at its time when the task has not ended, with the task as it was read last", async () => {
    const { clock, add, wait } = waiting();
    const outcome = wait(await add(), 3);
    await clock.advance(2_999);
    expect(outcome).toEqual({});
    await clock.advance(1);
    expect(outcome).toEqual({ afterMs: 3_000, status: "pending" });
  });

  test("a wait whose time is over has no task when the last read is older than a second", async () => {
    const { clock, read, add, wait } = waiting();
    const outcome = wait(await add(), 3);
    await clock.advance(1_900);
    read.mockRejectedValue(new PortUnavailable("the table"));
    await clock.advance(600);
    // The read at 1.5 s is a second old.
    const early = wait(await add(), 0.2);
    await clock.advance(500);
    expect(early.status).toBe("not read");
    expect(outcome).toEqual({ afterMs: 3_000, status: "not read" });
  });

  test("a wait whose time is over already ends immediately", async () => {
    const { clock, read, add, wait } = waiting();
    const outcome = wait(await add(), -1);
    await clock.advance(1_000);
    expect(outcome.status).toBe("not read");
    expect(read).not.toHaveBeenCalled();
  });

  test("a task that expires by its time has ended", async () => {
    const { clock, records, wait } = waiting();
    const at = new Date(clock.now() + 2_100).toISOString();
    const record = newRecord({ task_id: randomUUID(), expires_at: at, start_by: at });
    await records.create(record, new Date(clock.now()).toISOString());
    const outcome = wait(record, 20);
    await clock.advance(3_000);
    expect(outcome.afterMs).toBe(2_500);
  });

  test("a task that is retried is waited for until its last end", async () => {
    const { clock, records, add, end, wait } = waiting();
    const task = await add();
    const outcome = wait(task, 20);
    for (const status of ["processing", "pending", "processing"] as const) {
      await records.change(task, { when: {}, set: { status } });
      await clock.advance(1_000);
    }
    expect(outcome).toEqual({});
    await end(task);
    await clock.advance(500);
    expect(outcome.status).toBe("completed");
  });

  test("a wait ends when its task is past its purge time, or was deleted", async () => {
    const { clock, records, add, wait } = waiting();
    const purged = await add();
    const outcome = wait(purged, 20);
    const never = wait({ tenant_id: "acme", task_id: randomUUID() }, 20);
    await clock.advance(600);
    expect(never.status).toBe("gone");
    expect(outcome).toEqual({});
    await records.change(purged, { when: {}, set: { purge_at: Math.floor(clock.now() / 1000) } });
    await clock.advance(600);
    expect(outcome.status).toBe("gone");
  });

  test("a read that fails is repeated, and ends no wait", async () => {
    const { clock, read, add, end, wait } = waiting();
    const task = await add();
    const outcome = wait(task, 20);
    read.mockRejectedValueOnce(new PortUnavailable("the table")).mockRejectedValueOnce(new Error("a mistake"));
    await end(task);
    await clock.advance(1_000);
    expect(outcome).toEqual({});
    await clock.advance(500);
    expect(outcome.status).toBe("completed");
  });
});

describe("reads for requests that wait", () => {
  test("requests share one read every half second, with at most 100 keys each", async () => {
    const { clock, read, within, add, wait, apartOf } = waiting();
    const tasks = await Promise.all(Array.from({ length: 150 }, add));
    for (const task of [...tasks, ...tasks.slice(0, 50)]) wait(task, 20);
    await clock.advance(5_000);
    expect(read.mock.calls.map(([keys]) => keys.length)).toEqual(Array(10).fill([100, 50]).flat());
    expect(new Set(within)).toEqual(new Set([4_000]));
    expect(apartOf()).toBe(1);
  });

  test("many requests are read less often, but more than once a second", async () => {
    const { clock, read, add, wait } = waiting();
    for (let index = 0; index < 500; index++) wait(await add(), 20);
    await clock.advance(8_000);
    // The first pause began with one task.
    expect(read.mock.calls.length / 5).toBe(10);
  });

  test("a slow read does not delay the next one by more than its own time", async () => {
    const { clock, records, read, add, wait } = waiting();
    const times: number[] = [];
    const start = clock.now();
    read.mockImplementation((keys) => {
      times.push(clock.now() - start);
      return new Promise((resolve) =>
        clock.after(450, () => resolve(Promise.all(keys.map((key) => records.get(key))))),
      );
    });
    wait(await add(), 20);
    await clock.advance(2_000);
    expect(times).toEqual([500, 1_050, 1_600]);
  });

  test("no reads follow when the last request is answered, and a later request starts them again", async () => {
    const { clock, read, add, wait, apartOf } = waiting();
    wait(await add(), 1);
    wait(await add(), 2);
    await clock.advance(60_000);
    expect(read.mock.calls.length).toBeLessThanOrEqual(4);
    expect(clock.nextTimer()).toBeUndefined();
    read.mockClear();
    wait(await add(), 2);
    await clock.advance(1_900);
    expect(read).toHaveBeenCalledTimes(3);
    expect(apartOf()).toBe(2);
  });

  test("a request that comes while another one is read is read next", async () => {
    const { clock, read, add, end, wait } = waiting();
    wait(await add(), 20);
    await clock.advance(400);
    const task = await add();
    const outcome = wait(task, 20);
    await end(task);
    await clock.advance(100);
    expect(outcome).toEqual({ afterMs: 100, status: "completed" });
    expect(read).toHaveBeenCalledTimes(1);
  });
});
