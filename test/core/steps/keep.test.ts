import { expect, test } from "vitest";
import { extend, retry } from "../../../src/core/control/control.ts";
import { PermanentError, RetryAfter } from "../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { signal } from "../../../src/core/steps/signal.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { memoryPipeline, type Pipeline, typeOf } from "../../support/memory-pipeline.ts";

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
