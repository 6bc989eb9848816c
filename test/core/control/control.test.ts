import { describe, expect, test, vi } from "vitest";
import { cancel, extend, retry } from "../../../src/core/control/control.ts";
import { Overtaken, PermanentError, PortUnavailable } from "../../../src/core/model/errors.ts";
import { iso, type TaskRecord } from "../../../src/core/model/record.ts";
import { attemptsOf } from "../../../src/core/pipeline/end/view.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { gate } from "../../support/gate.ts";
import { type Pipeline, pipelineWith } from "../../support/memory-pipeline.ts";
import { notices } from "../../support/parts/notices.ts";
import { operations } from "../../support/parts/operations.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(notices, operations);

const setUp = (handler: TaskType["handler"] = () => "result", more: Partial<TaskType> = {}) =>
  memoryPipeline([typeOf(handler, more)]);

/** Makes a task move on under the next change that is made. */
function moveFirst({ records }: Pipeline, moves: (() => Promise<unknown>)[]): void {
  const change = records.change.bind(records);
  vi.spyOn(records, "change").mockImplementation(async (...given) => {
    await moves.shift()?.();
    return change(...given);
  });
}

describe("cancelling", () => {
  test("cancelling a waiting task ends it immediately, and its handler is never called", async () => {
    const handler = vi.fn();
    const { ports, accept, clock, drain, recordOf } = setUp(handler);
    const record = await accept({ expires_in_seconds: 600, retention_seconds: 100 });
    await clock.advance(1_000);
    const now = iso(clock.now());
    const cancelled = await cancel(ports, record);
    expect(cancelled).toMatchObject({
      status: "cancelled",
      updated_at: now,
      finished_at: now,
      retained_until: iso(clock.now() + 100_000),
      purge_at: clock.now() / 1000 + 100,
    });
    expect(cancelled).not.toHaveProperty("start_by");
    await drain();
    expect(handler).not.toHaveBeenCalled();
    expect(await recordOf(record)).toEqual(cancelled);
  });

  test("cancelling tells of the end, also when the answer of its write is lost and its repeat is refused", async () => {
    const { ports, accept, records, notices, recordOf } = setUp();
    notices.events = true;
    const record = await accept();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (...given) => {
      await change(...given);
      return change(...given);
    });
    await cancel(ports, record);
    expect(await recordOf(record)).toMatchObject({ status: "cancelled" });
    expect(notices.take()).toMatchObject([{ kind: "end", task_id: record.task_id }]);
  });

  test("cancelling a scheduled task deletes its one-off", async () => {
    const { ports, accept, oneOffs } = setUp();
    const record = await accept({ delay_seconds: 3_600 });
    expect(oneOffs.all().size).toBe(1);
    expect(await cancel(ports, record)).toMatchObject({ status: "cancelled" });
    expect(oneOffs.all().size).toBe(0);
  });

  test("cancelling a scheduled task works also when its one-off cannot be deleted now", async () => {
    const { ports, accept, oneOffs, drain, recordOf } = setUp();
    const record = await accept({ delay_seconds: 3_600 });
    vi.spyOn(oneOffs, "delete").mockRejectedValueOnce(new PortUnavailable("the scheduler"));
    expect(await cancel(ports, record)).toMatchObject({ status: "cancelled" });
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "cancelled", attempts: 0 });
  });

  test("cancelling a task between two attempts ends it, with its history", async () => {
    const { ports, accept, work, recordOf } = setUp(() => Promise.reject(new Error("no")));
    const record = await accept();
    await work();
    expect(await cancel(ports, await recordOf(record))).toMatchObject({
      status: "cancelled",
      attempts: 1,
      history: [{ outcome: "retried" }],
    });
  });

  test("cancelling a running task asks its attempt to stop, once", async () => {
    const open = gate<string>();
    const { ports, accept, work, recordOf, clock } = setUp(() => open.opened);
    const record = await accept();
    const working = work();
    await clock.advance(1_000);
    const first = await cancel(ports, await recordOf(record));
    expect(first).toMatchObject({ status: "processing", cancel_requested_at: iso(clock.now()) });
    await clock.advance(1_000);
    const second = await cancel(ports, await recordOf(record));
    expect(second).toMatchObject({ status: "processing", cancel_requested_at: first.cancel_requested_at });
    open.open("unwanted");
    await working;
    expect(await recordOf(record)).toMatchObject({ status: "cancelled" });
  });

  test("cancelling a task that starts at the same time asks its attempt to stop", async () => {
    const open = gate<string>();
    const pipeline = setUp(() => open.opened);
    const record = await pipeline.accept();
    const working = pipeline.work();
    await pipeline.clock.advance(0);
    expect(await cancel(pipeline.ports, record)).toMatchObject({ status: "processing" });
    open.open("unwanted");
    await working;
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "cancelled" });
  });

  test("cancelling a task that ended at the same time is a conflict", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept();
    await pipeline.drain();
    await expect(cancel(pipeline.ports, record)).rejects.toMatchObject({ code: "conflict" });
  });

  test("cancelling a task that keeps changing is given up after three tries", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept();
    const { records } = pipeline;
    const change = records.change.bind(records);
    const moves = Array.from({ length: 5 }, () => () => change(record, { when: {}, add: { attempts_total: 1 } }));
    moveFirst(pipeline, moves);
    await expect(cancel(pipeline.ports, record)).rejects.toThrow(Overtaken);
    expect(moves).toHaveLength(2);
  });

  test.each(["completed", "failed", "cancelled", "expired"] as const)(
    "cancelling a task that is %s is a conflict",
    async (status) => {
      const { ports, accept } = setUp();
      const record: TaskRecord = { ...(await accept()), status };
      await expect(cancel(ports, record)).rejects.toMatchObject({
        code: "conflict",
        detail: `A task that is ${status} cannot be cancelled.`,
      });
    },
  );

  test("cancelling a task that did not start in time is a conflict, although the record still says pending", async () => {
    const { ports, accept, clock } = setUp();
    const record = await accept({ expires_in_seconds: 1 });
    await clock.advance(1_000);
    await expect(cancel(ports, record)).rejects.toMatchObject({ code: "conflict" });
  });

  test("a cancel that has read a task before a replacement moved its start meets it as expired", async () => {
    const { ports, accept, clock, records, recordOf } = setUp();
    const read = await accept({ delay_seconds: 60 });
    const moved = iso(clock.now() - 1_000);
    await records.change(read, { when: { status: { is: "pending" } }, set: { start_by: moved } });
    await expect(cancel(ports, read)).rejects.toMatchObject({
      code: "conflict",
      detail: "A task that is expired cannot be cancelled.",
    });
    expect(await recordOf(read)).toMatchObject({ status: "pending", start_by: moved });
  });

  test("cancelling a task whose type forbids it is a conflict", async () => {
    const { ports, accept, recordOf } = setUp(() => null, { cancellable: false });
    const record = await accept();
    await expect(cancel(ports, record)).rejects.toMatchObject({
      code: "conflict",
      detail: "Tasks of type test.task cannot be cancelled.",
    });
    expect(await recordOf(record)).toEqual(record);
  });
});

describe("retrying", () => {
  /** A task that failed for good in its first round; in the second it succeeds. */
  async function failed(body: object = {}) {
    const pipeline = setUp((input, task) => {
      if (task.attemptOverall <= 2) throw task.attemptOverall === 2 ? new PermanentError("closed") : new Error("no");
      return input;
    });
    const record = await pipeline.accept({ input: { a: 1 }, ...body });
    await pipeline.drain();
    return { ...pipeline, record: await pipeline.recordOf(record) };
  }

  test("a retry starts a new round with the same input, and the history keeps the earlier round", async () => {
    const { ports, record, clock, drain, recordOf } = await failed();
    expect(record).toMatchObject({ status: "failed", attempts: 2 });
    await clock.advance(5_000);
    const now = iso(clock.now());
    const retried = await retry(ports, record);
    expect(retried).toMatchObject({
      status: "pending",
      round: 2,
      attempts: 0,
      attempts_total: 2,
      due_at: now,
      updated_at: now,
      history: [],
      error: "closed",
      first_failed_at: record.first_failed_at,
    });
    for (const field of ["finished_at", "retained_until", "dead_letter_at", "buried_at"]) {
      expect(retried).not.toHaveProperty(field);
    }
    await drain();
    const ended = await recordOf(record);
    expect(ended).toMatchObject({ status: "completed", result: { a: 1 }, attempts: 1, attempts_total: 3 });
    expect(
      (await attemptsOf(ports, ended, { stacks: true })).map(({ round, number, outcome }) => [round, number, outcome]),
    ).toEqual([
      [1, 1, "retried"],
      [1, 2, "failed"],
      [2, 1, "completed"],
    ]);
  });

  test("a retry whose round another retry has begun, and which has failed since, is a conflict", async () => {
    const pipeline = setUp(() => Promise.reject(new PermanentError("closed")));
    const accepted = await pipeline.accept();
    await pipeline.drain();
    const record = await pipeline.recordOf(accepted);
    const wholeRound = async () => {
      await retry(pipeline.ports, record);
      await pipeline.drain();
    };
    moveFirst(pipeline, [wholeRound]);
    await expect(retry(pipeline.ports, record)).rejects.toMatchObject({ code: "conflict" });
    expect(await pipeline.recordOf(accepted)).toMatchObject({ status: "failed", round: 2 });
  });

  test("a new round has no progress of the round before", async () => {
    const { ports, accept, drain, recordOf } = setUp((_, task) => {
      task.progress(40);
      throw new PermanentError("closed");
    });
    const accepted = await accept();
    await drain();
    const record = await recordOf(accepted);
    expect(record).toMatchObject({ status: "failed", progress: 40 });
    expect(await retry(ports, record)).not.toHaveProperty("progress");
  });

  test("a retry keeps the record at least as long as its message can live", async () => {
    const { ports, record, clock } = await failed({ retention_seconds: 60 });
    expect(await retry(ports, record)).toMatchObject({ purge_at: Math.ceil(clock.now() / 1000) + 14 * 86_400 + 60 });
  });

  test("a retry runs a task alone that took its worker down before, and no other task", async () => {
    const { ports, record, records, queues } = await failed();
    await retry(ports, record);
    expect(queues.waiting("normal").map(({ solo }) => solo)).toEqual([false, false]);
    const crashed = await failed();
    const set = { error_kind: "crashed" } as const;
    const changed = await crashed.ports.records.change(crashed.record, { when: {}, set });
    await retry(crashed.ports, changed.record ?? crashed.record);
    expect(crashed.queues.waiting("normal").map(({ solo }) => solo)).toEqual([true, true]);
    expect(await records.get(record)).toMatchObject({ status: "pending" });
  });

  test("a retry starts the task once, although it sends two messages", async () => {
    const { ports, record, queues, drain, recordOf, clock } = await failed();
    await retry(ports, record);
    const times = queues.waiting("normal").map(({ visibleAt }) => visibleAt - clock.now());
    expect(times).toEqual([30_000, 0]);
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "completed", attempts_total: 3 });
  });

  test.each(["before", "after"] as const)("a retry that dies just %s the change loses nothing", async (when) => {
    const { ports, record, records, drain, recordOf } = await failed();
    const change = records.change.bind(records);
    vi.spyOn(records, "change").mockImplementationOnce(async (...given) => {
      if (when === "after") await change(...given);
      throw new PortUnavailable("the table");
    });
    await expect(retry(ports, record)).rejects.toThrow(PortUnavailable);
    await drain();
    expect(await recordOf(record)).toMatchObject(
      when === "after" ? { status: "completed", round: 2 } : { status: "failed", round: 1 },
    );
  });

  test("two retries at the same time start one round", async () => {
    const { ports, record, drain, recordOf } = await failed();
    const settled = await Promise.allSettled([retry(ports, record), retry(ports, record)]);
    expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "completed", round: 2, attempts_total: 3 });
  });

  test.each(["pending", "processing", "completed", "cancelled", "expired"] as const)(
    "retrying a task that is %s is a conflict",
    async (status) => {
      const { ports, accept, queues } = setUp();
      const record: TaskRecord = { ...(await accept()), status };
      const waiting = queues.waiting("normal").length;
      await expect(retry(ports, record)).rejects.toMatchObject({
        code: "conflict",
        detail: `A task that is ${status} cannot be retried.`,
      });
      expect(queues.waiting("normal")).toHaveLength(waiting);
    },
  );

  test("retrying a task whose input is no longer kept is refused as gone", async () => {
    const { ports, record, records, queues } = await failed();
    await records.savePart(record, "envelope", undefined, 0);
    await expect(retry(ports, record)).rejects.toMatchObject({ code: "gone" });
    expect(queues.waiting("normal")).toEqual([]);
  });
});

describe("extending", () => {
  test("extending a task that has ended keeps it for the given seconds from now", async () => {
    const { ports, accept, drain, recordOf, clock } = setUp();
    const record = await accept({ retention_seconds: 60 });
    await drain();
    await clock.advance(30_000);
    const extended = await extend(ports, await recordOf(record), 1_000);
    expect(extended).toMatchObject({
      status: "completed",
      retained_until: iso(clock.now() + 1_000_000),
      purge_at: clock.now() / 1000 + 1_000,
      updated_at: iso(clock.now()),
    });
  });

  test("extending never shortens the retention", async () => {
    const { ports, accept, drain, recordOf } = setUp();
    const record = await accept({ retention_seconds: 600 });
    await drain();
    const ended = await recordOf(record);
    expect(await extend(ports, ended, 60)).toEqual(ended);
    expect(await recordOf(record)).toEqual(ended);
  });

  test("extending an open task keeps it longer once it has ended", async () => {
    const { ports, accept, drain, recordOf, clock } = setUp();
    const record = await accept({ retention_seconds: 60 });
    expect(await extend(ports, record, 1_000)).toMatchObject({ status: "pending", retention_seconds: 1_000 });
    expect(await extend(ports, await recordOf(record), 100)).toMatchObject({ retention_seconds: 1_000 });
    await drain();
    expect(await recordOf(record)).toMatchObject({ retained_until: iso(clock.now() + 1_000_000) });
  });

  test("extending a running task still counts when its attempt ends", async () => {
    const open = gate<string>();
    const { ports, accept, work, recordOf, clock } = setUp(() => open.opened);
    const record = await accept({ retention_seconds: 60 });
    const working = work();
    await clock.advance(0);
    await extend(ports, await recordOf(record), 1_000);
    open.open("result");
    await working;
    expect(await recordOf(record)).toMatchObject({
      status: "completed",
      retained_until: iso(clock.now() + 1_000_000),
      history: [{ outcome: "completed" }],
    });
  });

  test("extending keeps the result beside the record just as long", async () => {
    const { ports, accept, drain, records, recordOf, clock } = setUp(() => "x".repeat(10_000));
    const record = await accept({ retention_seconds: 60 });
    await drain();
    await extend(ports, await recordOf(record), 1_000);
    expect(records.purgeAtOf(record, "result#1")).toBe(clock.now() / 1000 + 1_000);
    expect(await records.loadPart(record, "result#1")).toBe(JSON.stringify("x".repeat(10_000)));
  });

  test("extending keeps a dead letter's envelope and earlier rounds just as long", async () => {
    const { ports, accept, drain, records, recordOf } = setUp(() => Promise.reject(new PermanentError("no")));
    const record = await accept({ retention_seconds: 60 });
    await drain();
    await retry(ports, await recordOf(record));
    await drain();
    const { purge_at } = await extend(ports, await recordOf(record), 2_000_000);
    for (const part of ["round#1", "envelope"] as const) {
      expect(records.purgeAtOf(record, part)).toBeGreaterThanOrEqual(purge_at);
    }
  });

  test("extending a dead letter for less than its 14 days counts for its next round", async () => {
    const pipeline = setUp(() => Promise.reject(new PermanentError("no")));
    const record = await pipeline.accept({ retention_seconds: 60 });
    await pipeline.drain();
    const dead = await pipeline.recordOf(record);
    const extended = await extend(pipeline.ports, dead, 1_000);
    expect(extended).toMatchObject({ retention_seconds: 1_000, retained_until: dead.retained_until });
  });

  test("extending a task that changed since it was read still keeps it longer", async () => {
    const { ports, accept, drain, recordOf } = setUp();
    const record = await accept({ retention_seconds: 60 });
    await drain();
    expect(await extend(ports, record, 1_000)).toMatchObject({ status: "completed", retention_seconds: 1_000 });
    expect(await recordOf(record)).toMatchObject({ status: "completed", retention_seconds: 1_000 });
  });
});
