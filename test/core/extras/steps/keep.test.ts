import { describe, expect, test, vi } from "vitest";
import { reschedule } from "../../../../src/core/control/change-waiting.ts";
import { extend, retry } from "../../../../src/core/control/control.ts";
import { signal } from "../../../../src/core/extras/steps/signal.ts";
import { PermanentError, RetryAfter } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { deletedBefore } from "../../../support/beside.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { limits } from "../../../support/parts/limits.ts";
import { operations } from "../../../support/parts/operations.ts";
import { rescue } from "../../../support/parts/rescue.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, limits, operations, rescue);

const daySeconds = 86_400;
const longest = 30 * daySeconds;

const days = (pipeline: Pipeline, count: number) => pipeline.clock.advance(count * daySeconds * 1000);

/** Entries of the task that the table may have deleted, although a later attempt may need them. */
async function lost(pipeline: Pipeline, task: TaskRecord): Promise<string[]> {
  const nowSeconds = pipeline.clock.now() / 1000;
  const entries = await pipeline.steps.load(task);
  expect(entries).not.toEqual([]);
  return entries.filter(({ purge_at }) => purge_at <= nowSeconds).map(({ kind, name }) => `${kind}:${name}`);
}

/** A pipeline whose handler makes a step before it does the rest. */
const withStep = (rest: TaskType["handler"], more: Partial<TaskType> = {}) =>
  memoryPipeline([
    typeOf(async (input: never, task) => {
      if (task.attemptOverall === 1) await task.step("first", () => 1);
      return rest(input, task);
    }, more),
  ]);

test("entries outlive waits for a retry of 30 days each, although no attempt reads them", async () => {
  const pipeline = withStep((_, task) => {
    if (task.attempt < 4) throw new RetryAfter(longest);
  });
  const task = await pipeline.accept({ retention_seconds: 60 });
  for (let wait = 0; wait < 3; wait++) {
    await pipeline.work();
    await days(pipeline, 30);
    await pipeline.fire();
    await pipeline.clock.advance(60_000);
    expect(await lost(pipeline, task)).toEqual([]);
  }
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 4 });
});

test("a signal outlives a wait for a retry", async () => {
  const pipeline = withStep(() => {
    throw new RetryAfter(longest);
  });
  const task = await pipeline.accept({ retention_seconds: 60 });
  await signal(pipeline.ports, await pipeline.recordOf(task), "approved", 1);
  await pipeline.work();
  await days(pipeline, 30);
  expect(await lost(pipeline, task)).toEqual([]);
});

test("entries that an attempt stores after its task was extended outlive the failed task", async () => {
  const pipeline = withStep(async (_, task) => {
    await extend(pipeline.ports, await pipeline.recordOf({ tenant_id: "acme", task_id: task.taskId }), longest);
    await task.step("second", () => 2);
    throw new PermanentError("it cannot be");
  });
  const task = await pipeline.accept({ retention_seconds: 60 });
  await pipeline.drain();
  await days(pipeline, 29);
  expect(await lost(pipeline, task)).toEqual([]);
});

test("entries outlive many rounds that do not reach them", async () => {
  const pipeline = withStep(() => {
    throw new PermanentError("it cannot be");
  });
  const task = await pipeline.accept({ retention_seconds: longest });
  await pipeline.drain();
  for (let round = 2; round < 6; round++) {
    await days(pipeline, 29);
    await retry(pipeline.ports, await pipeline.recordOf(task));
    expect(await lost(pipeline, task)).toEqual([]);
    await pipeline.drain();
  }
});

test("entries outlive the wait of their task for its children", async () => {
  const pipeline = withStep(async (_, task) => void (await task.spawn({ type: "test.task", input: null })), {
    children: {},
  });
  const task = await pipeline.accept({ retention_seconds: 60 });
  await pipeline.work();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "processing", family_state: "waiting" });
  await days(pipeline, 300);
  expect(await lost(pipeline, task)).toEqual([]);
});

describe("beside a task that waits for months", () => {
  const waits: [string, TaskType["handler"]][] = [
    [
      "for its children",
      async (_, task) => void (await task.spawn({ name: "test.task" }, null, { delaySeconds: 10 * daySeconds })),
    ],
    ["in a sleep", (_, task) => task.sleep(300 * daySeconds)],
    ["for another signal", (_, task) => task.waitFor("other", { timeoutSeconds: 300 * daySeconds })],
  ];

  /** A task whose first attempt calls `during`, and then begins to wait. */
  async function waiting(
    wait: TaskType["handler"],
    during: (pipeline: Pipeline, task: TaskRecord) => Promise<unknown>,
  ) {
    const handler: TaskType["handler"] = async (input: never, task) => {
      await task.step("first", () => 1);
      if (task.attemptOverall === 1) await during(pipeline, await pipeline.recordOf(accepted));
      return wait(input, task);
    };
    const pipeline = memoryPipeline([typeOf(handler, { children: {} })]);
    const accepted = await pipeline.accept({ retention_seconds: 60 });
    for (let attempts = 0; attempts < 3; attempts++) {
      await pipeline.work();
      await pipeline.clock.advance(1_000);
    }
    const record = await pipeline.recordOf(accepted);
    expect(record.purge_at * 1000).toBeGreaterThan(pipeline.clock.now() + 300 * daySeconds * 1000);
    return { pipeline, record };
  }

  test.each(waits)("a signal is kept that comes in its attempt (%s)", async (_, wait) => {
    const { pipeline, record } = await waiting(wait, ({ ports }, task) => signal(ports, task, "approved", 1));
    expect(await deletedBefore(pipeline, record)).toEqual([]);
  });

  test.each(waits)("a signal is kept that comes while the wait begins (%s)", async (_, wait) => {
    const { pipeline, record } = await waiting(wait, async ({ steps, records, ports }, task) => {
      const change = records.change.bind(records);
      vi.spyOn(records, "change").mockImplementation(async (key, given) => {
        if (given.set?.purge_at === undefined) return change(key, given);
        vi.restoreAllMocks();
        await signal(ports, task, "approved", 1);
        return change(key, given);
      });
      expect(await steps.load(task)).toHaveLength(1);
    });
    expect((await pipeline.steps.load(record, "signal")).length).toBe(1);
    expect(await deletedBefore(pipeline, record)).toEqual([]);
  });

  test.each(waits)("a signal is kept whose call has read the record before (%s)", async (_, wait) => {
    let before: TaskRecord | undefined;
    const { pipeline, record } = await waiting(wait, async (_, task) => {
      before = task;
    });
    await signal(pipeline.ports, before as TaskRecord, "approved", 1);
    expect(await deletedBefore(pipeline, record)).toEqual([]);
  });

  test.each(waits)("a signal is kept whose first call died before it noted it (%s)", async (_, wait) => {
    const entry = { kind: "signal", name: "approved", value: "1" } as const;
    const { pipeline, record } = await waiting(wait, async () => {});
    await pipeline.steps.add(record, entry, pipeline.clock.now() / 1000 + 60 * daySeconds);
    await signal(pipeline.ports, record, "approved", 1);
    expect(await deletedBefore(pipeline, record)).toEqual([]);
  });

  test.each([false, true])("the list of what it has submitted is kept (stored by a checkpoint: %s)", async (stored) => {
    const { pipeline, record } = await waiting(
      async (_, task) => {
        await task.submit({ name: "test.task" }, null, { delaySeconds: 10 * daySeconds });
        if (stored) await task.checkpoint({ at: 1 });
        await task.sleep(300 * daySeconds);
      },
      async () => {},
    );
    expect(await pipeline.steps.load(record, "submit")).toHaveLength(1);
    expect(await deletedBefore(pipeline, record)).toEqual([]);
  });
});

describe("a signal of a task that has not started is kept", () => {
  async function signalled(more: Parameters<Pipeline["accept"]>[0] = {}) {
    const pipeline = memoryPipeline([typeOf(async () => 1)]);
    const task = await pipeline.accept({ retention_seconds: 60, ...more });
    const send = async () => signal(pipeline.ports, await pipeline.recordOf(task), "approved", 1);
    return { pipeline, task, send };
  }

  test("when its start is moved by months", async () => {
    const { pipeline, task, send } = await signalled({ delay_seconds: daySeconds });
    const record = await send();
    await reschedule(pipeline.ports, record, pipeline.clock.now() + 300 * daySeconds * 1000, true);
    expect(await deletedBefore(pipeline, await pipeline.recordOf(task))).toEqual([]);
  });

  test("by the reconciliation that keeps it in a line", async () => {
    const { pipeline, task, send } = await signalled();
    const since = new Date(pipeline.clock.now()).toISOString();
    await pipeline.flowSettings.put({ kind: "pause", name: "pause/type/test.task", since, by: "olga" });
    await pipeline.work();
    const parked = await send();
    expect(parked.line).toBe("pause/type/test.task");
    await days(pipeline, 41);
    await pipeline.reconcile(pipeline.clock.now() + 60_000);
    const kept = await pipeline.recordOf(task);
    expect(kept.purge_at).toBeGreaterThan(parked.purge_at);
    expect(await deletedBefore(pipeline, kept)).toEqual([]);
  });
});
