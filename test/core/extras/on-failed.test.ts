import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { replayOne } from "../../../src/core/control/act-on-task.ts";
import { cancel, retry } from "../../../src/core/control/control.ts";
import { listDeadLetters } from "../../../src/core/control/find-dead-letters.ts";
import { listTasks } from "../../../src/core/control/list.ts";
import { AttemptTimedOut, PermanentError, PortUnavailable } from "../../../src/core/model/errors.ts";
import { onFailedName } from "../../../src/core/model/internal-names.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { onFailedId } from "../../../src/core/pipeline/end/on-failed-of.ts";
import { viewTask } from "../../../src/core/pipeline/end/view.ts";
import type { TaskContext } from "../../../src/core/task/context.ts";
import type { TaskFailure } from "../../../src/core/task/retry.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { operator } from "../../support/identities.ts";
import { pipelineWith } from "../../support/memory-pipeline.ts";
import { children } from "../../support/parts/children.ts";
import { notices } from "../../support/parts/notices.ts";
import { onFailed } from "../../support/parts/on-failed.ts";
import { operations } from "../../support/parts/operations.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(onFailed, children, notices, operations);

const wrong = () => {
  throw new PermanentError("the address is wrong");
};

/** A pipeline of a type with `onFailed`, and what that was called with. */
function failing(handler: TaskType["handler"] = wrong, more: Partial<TaskType> = {}) {
  const calls: { input: unknown; failure: TaskFailure; task: TaskContext }[] = [];
  const onFailed = (input: unknown, failure: TaskFailure, task: TaskContext) => {
    calls.push({ input, failure, task });
    return { told: failure.error };
  };
  const type = typeOf(handler, { maxAttempts: 3, onFailed, ...more });
  const pipeline = memoryPipeline([type]);
  const onFailedOf = async (record: TaskRecord) =>
    pipeline.records.get({ tenant_id: "acme", task_id: onFailedId(await pipeline.recordOf(record)) });
  return { ...pipeline, type, calls, onFailedOf };
}

describe("onFailed", () => {
  test("runs once, as a task of its own, when its task has failed for good", async () => {
    const pipeline = failing();
    const { accept, drain, onFailedOf, calls, ports } = pipeline;
    const task = await accept({ input: { to: "ada" }, priority: "low" });
    await drain();
    expect(calls).toEqual([
      {
        input: { to: "ada" },
        failure: {
          ...{ taskId: task.task_id, error: "the address is wrong", errorType: "PermanentError" },
          ...{ errorKind: "permanent", attempts: 1, failedAt: (await pipeline.recordOf(task)).finished_at },
        },
        task: expect.objectContaining({ type: onFailedName, tenantId: "acme", requestedBy: "olga", attempt: 1 }),
      },
    ]);
    expect(await onFailedOf(task)).toMatchObject({
      ...{ status: "completed", type: onFailedName, priority: "low", caused_by: task.task_id, max_attempts: 3 },
      ...{ result: { told: "the address is wrong" }, correlation_id: "corr-1" },
    });
    const { on_failed } = await viewTask(ports, await pipeline.recordOf(task));
    expect(on_failed).toEqual({ task_id: (await onFailedOf(task))?.task_id, status: "completed" });
  });

  test.each<[string, TaskType["handler"], Partial<TaskType>, unknown]>([
    ["a refused input", () => null, { input: z.strictObject({ to: z.email() }) }, { to: "ada" }],
    ["used-up attempts", () => Promise.reject(new Error("away")), { maxAttempts: 2 }, { to: "ada" }],
    ["children that failed", async (_, task) => task.spawn({ type: "none" }).then(wrong), { children: {} }, null],
  ])("runs after %s, with the input as it was submitted", async (_, handler, more, input) => {
    const { accept, drain, calls, onFailedOf, types } = failing(handler, more);
    // The worker decides about inputs that only its schema refuses.
    const known = new Map([...types].map(([name, type]) => [name, { ...type, input: z.unknown() }]));
    vi.spyOn(types, "get").mockImplementation((name) => known.get(name));
    const task = await accept({ input });
    await drain();
    expect(calls.map((call) => call.input)).toEqual([input]);
    expect(await onFailedOf(task)).toMatchObject({ status: "completed" });
  });

  test("gets the input as the handler does, of its version, also a large one", async () => {
    const more = {
      version: 2,
      input: z.strictObject({ text: z.string().transform((text) => text.length) }),
    };
    const { accept, drain, calls } = failing(wrong, more);
    await accept({ input: { text: "x".repeat(200_000) } });
    await drain();
    expect(calls.map(({ input }) => input)).toEqual([{ text: 200_000 }]);
  });

  test("runs after a time-out", async () => {
    const late = () => Promise.reject(new AttemptTimedOut("it took longer than 60 s"));
    const { accept, drain, calls } = failing(late, { maxAttempts: 1 });
    await accept();
    await drain();
    expect(calls.map(({ failure }) => failure.errorKind)).toEqual(["timed_out"]);
  });

  test("runs after a crash that redrive finds, which knows no types", async () => {
    const { accept, records, redrive, drain, calls, clock, onFailedOf } = failing(wrong, { maxAttempts: 1 });
    const task = await accept({ input: { to: "ada" } });
    const lease_until = "2027-01-01T00:00:30.000Z";
    await records.change(task, {
      when: {},
      set: { status: "processing", attempts: 1, attempts_total: 1, lease_until, lease_token: "a worker that is gone" },
    });
    await clock.advance(60_000);
    await redrive();
    expect(await onFailedOf(task)).toMatchObject({ status: "pending", max_attempts: 1 });
    await drain();
    expect(calls).toMatchObject([{ input: { to: "ada" }, failure: { errorKind: "crashed" } }]);
  });

  test("does not run after a cancel, an expiry or a success", async () => {
    const { accept, drain, calls, ports, clock, records } = failing(() => null);
    const cancelled = await accept({ delay_seconds: 60 });
    await cancel(ports, cancelled);
    await accept({ expires_in_seconds: 5 });
    await clock.advance(6_000);
    await accept();
    await drain();
    expect(calls).toEqual([]);
    expect((await records.list({ tenantId: "acme", type: onFailedName, limit: 10 })).items).toEqual([]);
  });

  test("is started by the next delivery when the process dies between the end and its start", async () => {
    const { accept, work, drain, clock, records, calls, onFailedOf } = failing();
    const task = await accept();
    const create = vi.spyOn(records, "create").mockRejectedValueOnce(new PortUnavailable("the table"));
    expect(await work()).toEqual(["again"]);
    expect(create).toHaveBeenCalledTimes(1);
    expect(await onFailedOf(task)).toBeUndefined();
    await clock.advance(5_400_000);
    await drain();
    expect(calls).toHaveLength(1);
  });

  test("of two deliveries of a dead letter, one starts it", async () => {
    const { accept, work, queues, clock, drain, calls, onFailedOf, records } = failing();
    const task = await accept();
    const deadLetter = vi.spyOn(queues, "deadLetter").mockRejectedValue(new PortUnavailable("the DLQ"));
    expect(await work()).toEqual(["again"]);
    deadLetter.mockRestore();
    await clock.advance(5_400_000);
    await drain();
    expect(calls).toHaveLength(1);
    expect((await records.list({ tenantId: "acme", type: onFailedName, limit: 10 })).items).toHaveLength(1);
    expect(await onFailedOf(task)).toMatchObject({ status: "completed", attempts_total: 1 });
  });

  test("runs once for each round that fails; a replay starts none that is not due", async () => {
    const { accept, drain, calls, ports, recordOf, onFailedOf } = failing();
    const task = await accept();
    await drain();
    const first = await onFailedOf(task);
    const { dead_letter_at = "" } = await recordOf(task);
    expect(await replayOne(ports, { ...task, dead_letter_at })).toBe("done");
    expect(calls).toHaveLength(1);
    expect((await viewTask(ports, await recordOf(task))).on_failed).toBeNull();
    await drain();
    expect(calls).toHaveLength(2);
    expect((await onFailedOf(task))?.task_id).not.toBe(first?.task_id);
  });

  test("a retry starts it first, when the process that ended the task had died before it did", async () => {
    const { accept, work, ports, records, queues, recordOf, drain, calls } = failing();
    const task = await accept();
    const create = vi.spyOn(records, "create").mockRejectedValueOnce(new PortUnavailable("the table"));
    await work();
    expect(create).toHaveBeenCalledTimes(1);
    vi.spyOn(queues, "deadLetter").mockResolvedValue();
    await retry(ports, await recordOf(task));
    await drain();
    expect(calls.map(({ failure }) => failure.attempts)).toEqual([1, 1]);
  });

  test("has the type's attempts, and its own failure is a dead letter that names both, and starts nothing", async () => {
    const onFailed = vi.fn(() => Promise.reject(new Error("the mail server is away")));
    const { accept, drain, onFailedOf, ports, records } = failing(wrong, { onFailed });
    const task = await accept({ max_attempts: 1 });
    await drain();
    expect(onFailed).toHaveBeenCalledTimes(3);
    expect(await onFailedOf(task)).toMatchObject({ status: "failed", attempts: 3, error: "the mail server is away" });
    const { items } = await listDeadLetters(ports, "acme", {}, { limit: 10, from: undefined });
    expect(items.map(({ type, caused_by }) => [type, caused_by])).toEqual([
      [onFailedName, task.task_id],
      ["test.task", null],
    ]);
    expect((await records.list({ tenantId: "acme", type: onFailedName, limit: 10 })).items).toHaveLength(1);
  });

  test("is in no list that does not ask for its type", async () => {
    const { accept, drain, ports } = failing();
    await accept();
    await drain();
    const typesOf = async (filter: object) => {
      const { items } = await listTasks(ports, operator, filter, { limit: 10, from: undefined });
      return items.map(({ type }) => type);
    };
    expect(await typesOf({})).toEqual(["test.task"]);
    expect(await typesOf({ type: onFailedName })).toEqual([onFailedName]);
  });

  test("a sensitive type's is sensitive: its log lines have no text of the input", async () => {
    const onFailed = (_: unknown, __: TaskFailure, task: TaskContext) => task.log.info("for secret-value");
    const { accept, drain, log } = failing(wrong, { sensitive: true, onFailed });
    await accept({ input: { value: "secret-value" } });
    await drain();
    expect(log.lines.filter(({ message }) => message.startsWith("for ")).map(({ message }) => message)).toEqual([
      "for [redacted]",
    ]);
  });

  test("tells nobody of itself", async () => {
    const { accept, drain, notices } = failing();
    vi.spyOn(notices, "receives").mockResolvedValue(true);
    const send = vi.spyOn(notices, "send");
    await accept();
    await drain();
    expect(send.mock.calls.flatMap(([sent]) => sent.map((one) => "type" in one && one.type))).toEqual(["test.task"]);
  });

  test("is not started for a type without it", async () => {
    const without = failing(wrong, { onFailed: undefined });
    const task = await without.accept();
    await without.drain();
    expect(await without.onFailedOf(task)).toBeUndefined();
    expect((await without.recordOf(task)).on_failed_attempts).toBeUndefined();
  });

  test("a task that was accepted before its type had onFailed starts it, too, when a worker ends it", async () => {
    const { accept, drain, calls, types, type } = failing();
    const { on_failed: _, ...before } = types.get(type.name) ?? (undefined as never);
    vi.spyOn(types, "get").mockReturnValue(before);
    const task = await accept();
    expect(task.on_failed_attempts).toBeUndefined();
    await drain();
    expect(calls).toHaveLength(1);
  });

  test("its handler may use steps and sleeps, beside what its task had", async () => {
    const told: string[] = [];
    const onFailed = async (_: unknown, failure: TaskFailure, task: TaskContext) => {
      await task.sleep(3_600);
      told.push(await task.step("tell", () => failure.error));
    };
    const { accept, drain, onFailedOf } = failing(async (_, task) => task.step("tell", wrong), { onFailed });
    const task = await accept();
    await drain();
    expect(told).toEqual(["the address is wrong"]);
    expect(await onFailedOf(task)).toMatchObject({ status: "completed" });
  });
});
