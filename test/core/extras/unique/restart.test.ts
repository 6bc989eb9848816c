import { describe, expect, test, vi } from "vitest";
import { cancel } from "../../../../src/core/control/control.ts";
import { runNow } from "../../../../src/core/control/run-now.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import type { Identity } from "../../../../src/core/model/words.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import { submitBatch } from "../../../../src/core/pipeline/submit/submit-batch.ts";
import type { Accepted, SubmitPorts } from "../../../../src/core/pipeline/submit/submit-ports.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { gate } from "../../../support/gate.ts";
import { operator } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { notices } from "../../../support/parts/notices.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(unique, notices);

/** A pipeline whose handler ends when the test says so, or ends at once, and notes how many of it run. */
function restarting(more: Partial<TaskType> = {}) {
  const ran: unknown[] = [];
  const running = new Map<unknown, ReturnType<typeof gate<void>>>();
  let atOnce = 0;
  let most = 0;
  const type = typeOf(
    async (input) => {
      ran.push(input);
      atOnce += 1;
      most = Math.max(most, atOnce);
      await running.get(input)?.opened;
      atOnce -= 1;
      return input;
    },
    { timeoutSeconds: 600, ...more },
  );
  const pipeline = memoryPipeline([type]);
  const restart = (input: unknown, given: object = {}, ports: SubmitPorts = pipeline.ports): Promise<Accepted> => {
    const { idempotencyKey, mode = "restart", ...rest } = given as { idempotencyKey?: string; mode?: string };
    const body = { type: "test.task", input, unique: { key: "k", mode }, ...rest };
    return submit(ports, { identity: operator as Identity, body, correlationId: "corr", idempotencyKey });
  };
  /** Lets a task start, and run until the test ends it. */
  const start = async (input: unknown): Promise<{ end: () => Promise<void>; record: TaskRecord }> => {
    const block = gate<void>();
    running.set(input, block);
    const { record } = await restart(input);
    const working = pipeline.work();
    await pipeline.clock.advance(0);
    const end = async () => {
      block.open();
      await working;
    };
    return { end, record };
  };
  return { ...pipeline, ran, running, restart, start, most: () => most };
}

const statusesOf = (pipeline: ReturnType<typeof restarting>) => pipeline.records.all().map(({ status }) => status);

describe("restart", () => {
  test("without a holder, a task is submitted as any other", async () => {
    const pipeline = restarting();
    const send = vi.spyOn(pipeline.queues, "send");
    const { record, replayed } = await pipeline.restart("one");
    expect({ replayed, status: record.status, wait: record.waiting_for }).toEqual({
      replayed: false,
      status: "pending",
    });
    expect(send).toHaveBeenCalledTimes(1);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("a waiting holder is cancelled, and the new task starts at once", async () => {
    const pipeline = restarting();
    const first = await pipeline.restart("one");
    const second = await pipeline.restart("two");
    expect(second.replayed).toBe(false);
    expect(await pipeline.recordOf(first.record)).toMatchObject({
      status: "cancelled",
      superseded_by: second.record.task_id,
    });
    expect(second.record.waiting_for).toBeUndefined();
    await pipeline.work();
    expect(pipeline.ran).toEqual(["two"]);
  });

  test("a running holder is asked to stop, and the new task starts with its end, not before", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const second = await pipeline.restart("two");
    const waiting = await pipeline.recordOf(second.record);
    expect(waiting).toMatchObject({
      status: "pending",
      waiting_for: { kind: "unique", tasks: [first.record.task_id] },
    });
    expect((await pipeline.recordOf(first.record)).cancel_requested_at).toBeDefined();
    await pipeline.clock.advance(60_000);
    await pipeline.work();
    expect(pipeline.ran).toEqual(["one"]);
    await first.end();
    // Its end tells the task: no look is needed.
    expect((await pipeline.recordOf(second.record)).waiting_for).toBeUndefined();
    await pipeline.work();
    expect(pipeline.ran).toEqual(["one", "two"]);
    await pipeline.drain();
    expect({ most: pipeline.most(), ran: pipeline.ran.length }).toEqual({ most: 1, ran: 2 });
  });

  test("of many that come while one runs, the last one runs to its end", async () => {
    const pipeline = restarting();
    const first = await pipeline.start(0);
    for (let n = 1; n <= 5; n++) await pipeline.restart(n);
    expect(statusesOf(pipeline)).toEqual(["processing", ...Array(4).fill("cancelled"), "pending"]);
    await first.end();
    await pipeline.drain();
    expect(pipeline.ran).toEqual([0, 5]);
    expect(statusesOf(pipeline).at(-1)).toBe("completed");
  });

  test("of fifty at the same time one runs to its end, and each caller has a task", async () => {
    const pipeline = restarting();
    const first = await pipeline.start(0);
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => pipeline.restart(n + 1)));
    await first.end();
    await pipeline.drain();
    const completed = pipeline.records.all().filter(({ status }) => status === "completed");
    expect({ completed: completed.length, most: pipeline.most() }).toEqual({ completed: 1, most: 1 });
    expect(answers.map(({ record }) => record.task_id)).toContain(completed[0]?.task_id);
  });

  test("a later start counts from the end of the holder's turn", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const { record } = await pipeline.restart("two", { delay_seconds: 600 });
    await first.end();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending", due_at: record.run_at });
    await pipeline.drain();
    expect((await pipeline.recordOf(record)).started_at).toBe(record.run_at);
  });

  test("a holder that cannot be cancelled is 409 with its id, and nothing changes", async () => {
    const pipeline = restarting({ cancellable: false });
    const { record } = await pipeline.restart("one");
    await expect(pipeline.restart("two")).rejects.toMatchObject({
      code: "conflict",
      options: { extra: { task_id: record.task_id } },
    });
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
    // Its end frees the key.
    expect((await pipeline.restart("three")).replayed).toBe(false);
  });

  test("a task that is cancelled before its turn leaves its wait to the next one", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const second = await pipeline.restart("two");
    await cancel(pipeline.ports, second.record);
    for (const mode of ["existing", "restart"]) {
      const { record } = await pipeline.restart(mode, { mode });
      expect(record.waiting_for).toEqual({ kind: "unique", tasks: [first.record.task_id] });
      await cancel(pipeline.ports, record);
    }
    const last = await pipeline.restart("last");
    await first.end();
    await pipeline.drain();
    expect((await pipeline.recordOf(last.record)).status).toBe("completed");
    expect({ ran: pipeline.ran, most: pipeline.most() }).toEqual({ ran: ["one", "last"], most: 1 });
  });

  test("a task that is cancelled before a worker has seen it cancels the one before it all the same", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    // Submit has no right to cancel: the worker that gets the message does so.
    const { supersede: _, ...ports } = pipeline.ports;
    const second = await pipeline.restart("two", {}, ports);
    await cancel(pipeline.ports, second.record);
    expect((await pipeline.recordOf(first.record)).cancel_requested_at).toBeUndefined();
    await pipeline.work();
    expect(await pipeline.recordOf(first.record)).toMatchObject({ superseded_by: second.record.task_id });
    await first.end();
    await pipeline.drain();
    expect(statusesOf(pipeline)).toEqual(["cancelled", "cancelled"]);
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("a task that was cancelled before its turn leaves a later round of the one before it alone", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const { supersede: _, ...ports } = pipeline.ports;
    const second = await pipeline.restart("two", {}, ports);
    await cancel(pipeline.ports, second.record);
    await pipeline.records.change(first.record, { when: {}, set: { round: 2 } });
    await pipeline.work();
    expect((await pipeline.recordOf(first.record)).cancel_requested_at).toBeUndefined();
    await first.end();
  });

  test("no other call starts it before its turn, and replace gives it an input", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const { record } = await pipeline.restart("two");
    await expect(runNow(pipeline.ports, await pipeline.recordOf(record))).rejects.toMatchObject({
      code: "not_waiting",
    });
    const joined = await pipeline.restart("three", { mode: "replace", delay_seconds: 0 });
    expect(joined.record.task_id).toBe(record.task_id);
    await pipeline.clock.advance(60_000);
    await pipeline.work();
    expect(pipeline.ran).toEqual(["one"]);
    await first.end();
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "three"]);
  });

  test("entries of a batch with one key are one task, with the last input", async () => {
    const pipeline = restarting();
    const tasks = [1, 2, 3].map((input) => ({ type: "test.task", input, unique: { key: "k", mode: "restart" } }));
    const call = { identity: operator, body: { tasks }, correlationId: "corr" };
    const entries = await submitBatch(pipeline.ports, call, (error) => {
      throw error;
    });
    await pipeline.drain();
    expect(new Set(entries.map((entry) => ("accepted" in entry ? entry.accepted.record.task_id : entry))).size).toBe(1);
    expect(pipeline.ran).toEqual([3]);
  });
});

describe("many before a worker comes", () => {
  /** As the API, which has no right to cancel. */
  const submitPorts = ({ ports: { supersede: _, ...ports } }: ReturnType<typeof restarting>): SubmitPorts => ports;

  test.each([
    ["while one runs", true],
    ["none of them has started", false],
  ])("a thousand: %s", async (_, isRunning) => {
    const pipeline = restarting();
    const ports = submitPorts(pipeline);
    const first = isRunning ? await pipeline.start(0) : undefined;
    if (!isRunning) await pipeline.restart(0, {}, ports);
    const get = vi.spyOn(pipeline.records, "get");
    const change = vi.spyOn(pipeline.records, "change");
    const count = 1_000;
    for (let n = 1; n <= count; n++) await pipeline.restart(n, {}, ports);
    const waits = pipeline.records
      .all()
      .map(({ waiting_for: wait }) => (wait?.kind === "unique" ? wait.tasks.length : 0));
    const open = pipeline.records.all().filter(({ status }) => status === "pending" || status === "processing");
    expect({ open: open.length, longest: Math.max(...waits) }).toEqual({ open: 2, longest: 2 });
    expect(get.mock.calls.length).toBeLessThanOrEqual(3 * count);
    expect(change.mock.calls.length).toBeLessThanOrEqual(count);
    get.mockClear();
    change.mockClear();
    await pipeline.clock.advance(0);
    const working = pipeline.drain();
    await pipeline.clock.advance(0);
    await first?.end();
    await working;
    await pipeline.drain();
    expect(pipeline.ran).toEqual([0, count]);
    expect({ most: pipeline.most(), statuses: statusesOf(pipeline).slice(1) }).toEqual({
      most: 1,
      statuses: [...Array(count - 1).fill("cancelled"), "completed"],
    });
    // A look of each message, and the turn of the last task.
    expect(get.mock.calls.length).toBeLessThanOrEqual(13 * count);
    expect(change.mock.calls.length).toBeLessThanOrEqual(4 * count);
  });

  test("each that is ended so is told once a worker comes, and has the newer task's id", async () => {
    const pipeline = restarting();
    const ports = submitPorts(pipeline);
    const first = await pipeline.start(0);
    const callback = { url: "https://receiver.example/hook" };
    const second = await pipeline.restart(1, { callback }, ports);
    const third = await pipeline.restart(2, {}, ports);
    expect(await pipeline.recordOf(second.record)).toMatchObject({
      status: "cancelled",
      superseded_by: third.record.task_id,
    });
    await pipeline.work();
    const told = pipeline.notices.take().filter(({ kind }) => kind === "end");
    expect(told[0]).toMatchObject({ task_id: second.record.task_id, task: { status: "cancelled" } });
    expect((await pipeline.recordOf(second.record)).rescued_at).toBeUndefined();
    await first.end();
    await pipeline.drain();
    expect(pipeline.ran).toEqual([0, 2]);
  });

  test("a write that fails is left to the worker, and the submit is accepted", async () => {
    const pipeline = restarting();
    const ports = submitPorts(pipeline);
    const first = await pipeline.start(0);
    const second = await pipeline.restart(1, {}, ports);
    const { change } = pipeline.records;
    vi.spyOn(pipeline.records, "change").mockImplementation((key, given) =>
      given.set?.superseded_by === undefined ? change.call(pipeline.records, key, given) : unavailable(),
    );
    const third = await pipeline.restart(2, {}, ports);
    expect((await pipeline.recordOf(second.record)).status).toBe("pending");
    vi.mocked(pipeline.records.change).mockRestore();
    await pipeline.work();
    expect(await pipeline.recordOf(second.record)).toMatchObject({ superseded_by: third.record.task_id });
    await first.end();
    await pipeline.drain();
    expect({ ran: pipeline.ran, most: pipeline.most() }).toEqual({ ran: [0, 2], most: 1 });
  });
});

const unavailable = () => Promise.reject(new PortUnavailable("it"));

describe("deaths", () => {
  test("a submit that dies before its message is sent cancels nothing", async () => {
    const pipeline = restarting();
    const first = await pipeline.restart("one");
    vi.spyOn(pipeline.queues, "send").mockImplementationOnce(unavailable);
    await expect(pipeline.restart("two")).rejects.toMatchObject({ code: "unavailable" });
    await pipeline.drain();
    expect((await pipeline.recordOf(first.record)).status).toBe("completed");
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("the end of the holder does not start a task whose message is not sent", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const sending = gate();
    vi.spyOn(pipeline.queues, "send").mockImplementationOnce(async () => {
      await sending.opened;
      throw new PortUnavailable("the queue");
    });
    const second = pipeline.restart("two");
    await pipeline.clock.advance(0);
    await cancel(pipeline.ports, first.record);
    const holder = pipeline.records.all().find(({ task_id }) => task_id !== first.record.task_id);
    await pipeline.records.change(first.record, { when: {}, set: { superseded_by: holder?.task_id } });
    await first.end();
    sending.open();
    await expect(second).rejects.toMatchObject({ code: "unavailable" });
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("a submit that dies after it is finished by a worker: the holder is cancelled, and the task runs", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    await expect(
      pipeline.restart("two", {}, { ...pipeline.ports, supersede: () => unavailable() }),
    ).rejects.toMatchObject({ code: "unavailable" });
    expect((await pipeline.recordOf(first.record)).cancel_requested_at).toBeUndefined();
    await pipeline.clock.advance(31_000);
    await pipeline.work();
    expect((await pipeline.recordOf(first.record)).cancel_requested_at).toBeDefined();
    await first.end();
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "two"]);
  });

  test("its repeat with the idempotency key cancels the holder, and makes no second task", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const idempotencyKey = "again";
    await expect(
      pipeline.restart("two", { idempotencyKey }, { ...pipeline.ports, supersede: () => unavailable() }),
    ).rejects.toMatchObject({ code: "unavailable" });
    const { replayed, record } = await pipeline.restart("two", { idempotencyKey });
    expect({ replayed, tasks: pipeline.records.all().length }).toEqual({ replayed: true, tasks: 2 });
    expect((await pipeline.recordOf(first.record)).superseded_by).toBe(record.task_id);
    await first.end();
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "two"]);
  });

  test("an end that nobody tells is found by a look", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const { record } = await pipeline.restart("two");
    vi.spyOn(pipeline.uniqueKeys, "holder").mockResolvedValueOnce(undefined);
    await first.end();
    expect((await pipeline.recordOf(record)).waiting_for).toBeDefined();
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "two"]);
  });

  test("its end is told by its own message, when who cancelled it died before that", async () => {
    const pipeline = restarting();
    const { end } = await pipeline.start("one");
    const { record } = await pipeline.restart("two", { callback: { url: "https://receiver.example/hook" } });
    const { change } = pipeline.records;
    vi.spyOn(pipeline.records, "change").mockImplementation(async (key, given) => {
      const isLook = key.task_id === record.task_id && given.remove?.includes("sender");
      const cancelled = { status: "cancelled", finished_at: record.created_at, retained_until: record.created_at };
      if (isLook) await change.call(pipeline.records, key, { when: {}, set: cancelled } as never);
      return change.call(pipeline.records, key, given);
    });
    await pipeline.clock.advance(60_000);
    await pipeline.work();
    const told = pipeline.notices.take().filter(({ kind }) => kind === "end");
    expect(told).toMatchObject([{ task_id: record.task_id, task: { status: "cancelled" } }]);
    await end();
  });

  test("a large input is sent by the end of the holder", async () => {
    const pipeline = restarting();
    const first = await pipeline.start("one");
    const input = "x".repeat(4_000);
    const { record } = await pipeline.restart(input);
    await first.end();
    await pipeline.work();
    expect((await pipeline.recordOf(record)).status).toBe("completed");
    expect(pipeline.ran.at(-1)).toBe(input);
  });
});
