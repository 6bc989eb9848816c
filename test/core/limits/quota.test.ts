import { describe, expect, test, vi } from "vitest";
import { hourOf } from "../../../src/core/limits/ports.ts";
import { countingRecords, Quota, Releases } from "../../../src/core/limits/quota.ts";
import { Problem } from "../../../src/core/model/problem.ts";
import { iso } from "../../../src/core/model/record.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { MemoryUsage } from "../../../src/memory/usage.ts";
import { KeptLog } from "../../support/kept.ts";
import { newRecord } from "../../support/records.ts";

/** @param frozen True: no timer of the processes that submit ever comes, as Lambda freezes a process after its answer. */
function setUp(processes = 1, { frozen = false } = {}) {
  const clock = new FakeClock();
  const usage = new MemoryUsage();
  const stored = new MemoryRecords();
  const releases = new Releases({ clock, usage });
  const records = countingRecords(stored, (...ended) => releases.add(...ended));
  const own = frozen ? { now: () => clock.now(), after: () => () => {} } : clock;
  const quotas = Array.from({ length: processes }, () => new Quota({ clock: own, log: new KeptLog(), usage, records }));
  /** Seconds to wait, or undefined when it was let in. */
  const ask = async (bound: number, tenantId = "acme", quota = quotas[0]): Promise<number | undefined> => {
    try {
      await quota?.take(tenantId, bound);
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "quota_exceeded") throw error;
      return error.options.retryAfterSeconds;
    }
  };
  /** Takes a place and writes the record of the task that has it; undefined when there is none. */
  const start = async (bound: number, quota = quotas[0]) => {
    if ((await ask(bound, "acme", quota)) !== undefined) return undefined;
    const record = newRecord({ counted: true, created_at: iso(clock.now()), purge_at: clock.now() / 1000 + 86_400 });
    await stored.create(record, iso(clock.now()));
    return record;
  };
  /** Starts that many tasks. Throws when one is refused. */
  const startAll = async (count: number, bound: number) => {
    const started: ReturnType<typeof newRecord>[] = [];
    while (started.length < count) {
      const record = await start(bound);
      if (record === undefined) throw new Error(`task ${started.length + 1} of ${count} was refused`);
      started.push(record);
    }
    return started;
  };
  const end = (record: ReturnType<typeof newRecord>) =>
    records.change(record, { when: { status: { is: "pending" } }, set: { status: "completed" } });
  return { clock, usage, stored, records, releases, quotas, ask, start, startAll, end };
}

describe("a tenant's tasks in progress", () => {
  test("the tasks in progress are at most as many as the bound", async () => {
    const { start } = setUp();
    const started = [];
    for (let count = 0; count < 30; count++) started.push(await start(25));
    expect(started.filter(Boolean)).toHaveLength(25);
  });

  test("tasks that end make room, in whichever process they end", async () => {
    const { start, startAll, end, releases, clock, usage } = setUp();
    const tasks = await startAll(10, 10);
    expect(await start(10)).toBeUndefined();
    for (const task of tasks.slice(0, 4)) await end(task);
    await releases.flush();
    expect(usage.openOf("acme")).toBe(6);
    await clock.advance(1_000);
    expect(await start(10)).toMatchObject({ counted: true });
  });

  test("a bound of 0 lets no task in", async () => {
    expect(await setUp().ask(0)).toBe(2);
  });

  test("each tenant has its own count", async () => {
    const { ask } = setUp();
    await ask(1);
    expect(await ask(1, "globex")).toBeUndefined();
  });

  test("a place that is given back does not count", async () => {
    const { ask, quotas } = setUp();
    for (let count = 0; count < 20; count++) {
      expect(await ask(3)).toBeUndefined();
      quotas[0]?.giveBack("acme");
    }
  });

  test("a task counts down once, and a task that was not counted never does", async () => {
    const { startAll, end, records, releases, usage, stored, clock } = setUp();
    const [task = newRecord(), kept = newRecord()] = await startAll(2, 10);
    const other = newRecord();
    await stored.create(other, iso(clock.now()));
    const open = usage.openOf("acme");
    await Promise.all([end(task), end(task)]);
    await end(other);
    await releases.flush();
    expect(usage.openOf("acme")).toBe(open - 1);
    for (const ended of [task, kept]) await records.change(ended, { when: {}, set: { progress: 5 } });
    await releases.flush();
    expect(usage.openOf("acme")).toBe(open - 1);
  });

  test("a failed task that an operator retries does not count again", async () => {
    const { startAll, records, releases, usage } = setUp();
    const [task = newRecord()] = await startAll(1, 10);
    await records.change(task, { when: {}, set: { status: "failed" } });
    const again = await records.change(task, { when: {}, set: { status: "pending" }, add: { round: 1 } });
    expect(again.record?.counted).toBeUndefined();
    await records.change(task, { when: {}, set: { status: "completed" } });
    await releases.flush();
    expect(usage.openOf("acme")).toBe(0);
  });
});

describe("releases", () => {
  test("the releases of a batch are one write", async () => {
    const { startAll, end, releases, usage, clock } = setUp();
    const tasks = await startAll(10, 100);
    const before = usage.writes;
    for (const task of tasks) await end(task);
    await clock.advance(200);
    expect(usage.writes - before).toBe(1);
    await releases.flush();
    expect(usage.writes - before).toBe(1);
    expect(usage.openOf("acme")).toBeLessThanOrEqual(6);
  });

  test("a flush waits for the writes that the timer started", async () => {
    const { startAll, end, releases, usage, clock } = setUp();
    const [task = newRecord()] = await startAll(1, 10);
    const release = usage.release.bind(usage);
    usage.release = async (...call) => {
      await new Promise<void>((resolve) => clock.after(1_000, resolve));
      await release(...call);
    };
    await end(task);
    await clock.advance(200);
    const flushed = vi.fn();
    const flushing = releases.flush().then(flushed);
    await clock.advance(900);
    expect(flushed).not.toHaveBeenCalled();
    await clock.advance(100);
    await flushing;
    expect(usage.openOf("acme")).toBe(0);
  });

  test("releases that could not be written are written with the next", async () => {
    const { startAll, end, releases, usage } = setUp();
    const [task = newRecord()] = await startAll(1, 10);
    const { release } = usage;
    usage.release = () => Promise.reject(new Error("down"));
    await end(task);
    await releases.flush();
    expect(usage.openOf("acme")).toBe(1);
    usage.release = release.bind(usage);
    await releases.flush();
    expect(usage.openOf("acme")).toBe(0);
  });
});

describe("a count that is too high", () => {
  test("a count that is too high is corrected after a while to the number of open records", async () => {
    const { startAll, stored, clock, usage, ask } = setUp();
    const tasks = await startAll(10, 10);
    for (const task of tasks.slice(0, 7)) await stored.change(task, { when: {}, set: { status: "completed" } });
    expect(await ask(10)).toBe(2);
    expect(usage.openOf("acme")).toBe(10);
    await clock.advance(2_000);
    expect(await ask(10)).toBeUndefined();
    expect(usage.openOf("acme")).toBe(4);
  });

  test("the count is compared once a minute, not for each refusal", async () => {
    const { startAll, ask, clock, records } = setUp();
    let lists = 0;
    const { list } = records;
    records.list = (query) => {
      lists += 1;
      return list(query);
    };
    await startAll(5, 5);
    for (let second = 0; second < 58; second++) {
      await clock.advance(1_000);
      expect(await ask(5)).toBe(2);
    }
    expect(lists).toBe(1);
  });

  test("an old hour is forgotten after a day, even when it has too many records to read", async () => {
    const { ask, usage, clock } = setUp();
    await usage.reserve("acme", { by: 3, atMost: 5, nowMs: clock.now() });
    await clock.advance(25 * 3_600_000);
    expect(await ask(5)).toBeUndefined();
    expect(usage.openOf("acme")).toBe(1);
    await usage.release("acme", hourOf(clock.now()) - 25, 1);
    expect(usage.openOf("acme")).toBe(1);
  });
});

describe("many processes together", () => {
  /** Starts 400 tasks a second over ten processes, and ends the oldest when so many are in progress; gives writes for each submit. */
  async function steadily(bound: number, inProgress: number): Promise<number> {
    const { start, end, quotas, usage, clock } = setUp(10);
    const open: NonNullable<Awaited<ReturnType<typeof start>>>[] = [];
    const [ticks, perTick] = [1_000, 4];
    let taking = 0;
    for (let tick = 0; tick < ticks; tick++) {
      await clock.advance(10);
      const before = usage.writes;
      for (let count = 0; count < perTick; count++) {
        const record = await start(bound, quotas[(tick + count * 3) % quotas.length]);
        if (record === undefined) throw new Error(`refused with ${open.length} in progress`);
        open.push(record);
      }
      taking += usage.writes - before;
      for (const ended of open.splice(0, Math.max(0, open.length - inProgress))) await end(ended);
    }
    return taking / (ticks * perTick);
  }

  test("many processes refuse no task while there is room, at less than 0.1 writes for each submit", async () => {
    expect(await steadily(2_000, 1_000)).toBeLessThan(0.1);
    expect(await steadily(5_000, 400)).toBeLessThan(0.05);
  });

  test("many processes refuse no task close to the bound, where they count more often", async () => {
    expect(await steadily(500, 400)).toBeLessThan(1);
    expect(await steadily(2_000, 1_800)).toBeLessThan(0.5);
  });

  /** Twenty processes that each start 20 tasks within a second. Returns the number of tasks, and starts more in one process. */
  async function afterTwentyWereBusy(bound: number, frozen = false) {
    const set = setUp(20, { frozen });
    let started = 0;
    for (let tick = 0; tick < 20; tick++) {
      await set.clock.advance(50);
      for (const quota of set.quotas) started += (await set.start(bound, quota)) === undefined ? 0 : 1;
    }
    /** Starts tasks in one process until one is refused. */
    const fill = async (quota = set.quotas[0]) => {
      while ((await set.start(bound, quota)) !== undefined) started += 1;
      return started;
    };
    return { ...set, fill };
  }

  test("twenty idle processes keep no places from others", async () => {
    const { clock, fill } = await afterTwentyWereBusy(1_000);
    await clock.advance(2_000);
    expect(await fill()).toBeGreaterThanOrEqual(995);
  });

  test("frozen processes give their places back when they wake", async () => {
    const { clock, fill, quotas } = await afterTwentyWereBusy(1_000, true);
    await clock.advance(300_000);
    for (const quota of quotas.slice(1)) await fill(quota);
    expect(await fill()).toBe(1_000);
  });

  test("processes that wake after the count was compared with the records never pass the bound", async () => {
    const { clock, fill, quotas, usage } = await afterTwentyWereBusy(1_000, true);
    await fill();
    await clock.advance(2_000);
    expect(await fill()).toBe(1_000);
    for (const quota of quotas) expect(await fill(quota)).toBe(1_000);
    expect(usage.openOf("acme")).toBe(1_000);
  });

  test("many processes let in at most the bound, and at least nine tenths of it", async () => {
    const { start, quotas } = setUp(5);
    const started = [];
    for (let count = 0; count < 400; count++) started.push(await start(200, quotas[count % quotas.length]));
    const accepted = started.filter(Boolean).length;
    expect(accepted).toBeLessThanOrEqual(200);
    expect(accepted).toBeGreaterThan(180);
  });
});
