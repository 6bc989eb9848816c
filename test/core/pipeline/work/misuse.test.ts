import { expect, test } from "vitest";
import { submitChild } from "../../../../src/core/extras/children/child.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

type Handler = TaskType["handler"];
type Any = Parameters<Handler>[1] & Record<string, (...given: unknown[]) => unknown>;

const wrong = { bigint: 5n, symbol: Symbol("s"), nothing: undefined, null: null };

/** Calls of the context with a wrong value in one place. */
const calls: Readonly<Record<string, (task: Any, value: unknown) => unknown>> = {
  "the name of a step": (task, value) => task.step(value as never, () => 1),
  "the function of a step": (task, value) => task.step("s", value as never),
  "the seconds of a sleep": (task, value) => task.sleep(value as never),
  "the name of a wait": (task, value) => task.waitFor(value as never, { timeoutSeconds: 0 }),
  "the options of a wait": (task, value) => task.waitFor("w", value as never),
  "the time-out of a wait": (task, value) => task.waitFor("w", { timeoutSeconds: value as never }),
  "the key of once": (task, value) => task.once(value as never, () => 1),
  "the function of once": (task, value) => task.once("k", value as never),
  "a submit's type": (task, value) => task.submit(value as never, {}),
  "the name of a submit's type": (task, value) => task.submit({ type: value as never }),
  "a spawn's type": (task, value) => task.spawn(value as never, {}),
  "the name of a spawn's type": (task, value) => task.spawn({ type: value as never }),
  "the children of spawnAll": (task, value) => task.spawnAll(value as never),
  "the inputs of spawnAll": (task, value) => task.spawnAll({ name: "test.task" }, value as never),
  "a child of spawnAll": (task, value) => task.spawnAll([value] as never),
  "the type of a child of spawnAll": (task, value) => task.spawnAll([{ type: value }] as never),
};

/** Calls for which nothing is a right value. */
const lenient: typeof calls = {
  "a state": (task, value) => task.checkpoint(value as never),
  "a progress": (task, value) => task.progress(value as never),
  "the details of a progress": (task, value) => task.progress(1, value as never),
  "the data of a progress": (task, value) => task.progress(1, { data: value }),
  "a submit's input": (task, value) => task.submit({ type: "test.task", input: value }),
  "a submit's key": (task, value) => task.submit({ type: "test.task", key: value as never }),
  "a submit's delay": (task, value) => task.submit({ type: "test.task", delaySeconds: value as never }),
  "a submit's tag": (task, value) => task.submit({ type: "test.task", tags: { a: value as never } }),
  "a submit's options": (task, value) => task.submit({ name: "test.task" }, {}, value as never),
  "a spawn's options": (task, value) => task.spawn({ name: "test.task" }, {}, value as never),
  "a spawn's files": (task, value) => task.spawn({ type: "test.task", files: value as never }),
  "the options of spawnAll": (task, value) => task.spawnAll({ name: "test.task" }, [{}], value as never),
  "the key of spawnAll": (task, value) => task.spawnAll({ name: "test.task" }, [{}], { key: value as never }),
};

const all = (cases: typeof calls, values: object) =>
  Object.keys(cases).flatMap((what) => Object.keys(values).map((kind) => [what, kind] as const));

async function failureOf(call: (task: Any, value: unknown) => unknown, value: unknown) {
  const handler: Handler = async (_, task) => {
    await call(task as Any, value);
    return null;
  };
  const pipeline = memoryPipeline([typeOf(handler, { children: {} })]);
  Object.assign(pipeline.ports, { submitChild: submitChild(pipeline.ports) });
  const task = await pipeline.accept();
  await pipeline.work();
  return pipeline.recordOf(task);
}

test.each(all(calls, wrong))(
  "%s that is a %s fails the task for good, and says what was expected",
  async (what, kind) => {
    const record = await failureOf(calls[what] as never, wrong[kind as keyof typeof wrong]);
    expect(record).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
    expect(record.error).not.toMatch(/Cannot (?:mix|read|convert|destructure)|is not (?:a function|iterable)/);
  },
);

const { bigint, symbol } = wrong;

test.each(all(lenient, { bigint, symbol }))("%s that is a %s fails the task for good", async (what, kind) => {
  const record = await failureOf(lenient[what] as never, wrong[kind as keyof typeof wrong]);
  expect(record).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
  expect(record.error).not.toMatch(/Cannot (?:mix|read|convert|destructure)|is not (?:a function|iterable)/);
});
