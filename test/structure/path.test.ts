import { expect, test } from "vitest";
import { PermanentError } from "../../src/core/model/errors.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { type CorePath, corePathOf } from "../support/core-path.ts";
import { pipelineWith } from "../support/memory-pipeline.ts";
import { allParts } from "../support/parts/all.ts";
import { typeOf } from "../support/task-types.ts";

const memoryPipeline = pipelineWith(...allParts);

/** Files and functions of the core that run from the submit of tasks to their ends: at most so many. They only fall. */
const ceilings = {
  "a plain task": { files: 41, functions: 180 },
  "a task that is retried once": { files: 48, functions: 233 },
  "a task that fails for good": { files: 47, functions: 215 },
  "two tasks of one place": { files: 59, functions: 304 },
  "two tasks of a rate of one a minute": { files: 58, functions: 261 },
} as const;

const pathOf = (type: TaskType, tasks: number): Promise<CorePath> => {
  const pipeline = memoryPipeline([type]);
  return corePathOf(async () => {
    const submitted = [];
    for (let index = 0; index < tasks; index++) submitted.push(await pipeline.accept());
    await pipeline.drain();
    for (const key of submitted) expect((await pipeline.recordOf(key)).finished_at).toBeDefined();
  });
};

const failsOnce = () => {
  let attempts = 0;
  return async () => {
    attempts += 1;
    if (attempts === 1) throw new Error("not yet");
    return attempts;
  };
};

const forGood = async () => {
  throw new PermanentError("never");
};

test.each([
  ["a plain task", typeOf(async () => 1), 1],
  ["a task that is retried once", typeOf(failsOnce()), 1],
  ["a task that fails for good", typeOf(forGood), 1],
  ["two tasks of one place", typeOf(async () => 1, { concurrency: { limit: 1 } }), 2],
  ["two tasks of a rate of one a minute", typeOf(async () => 1, { rateLimit: { limit: 1, perSeconds: 60 } }), 2],
] as const)("%s runs through few files and functions of the core", async (name, type, tasks) => {
  const { files, functions } = await pathOf(type, tasks);
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(ceilings[name].files);
  expect(functions.length, functions.join("\n")).toBeLessThanOrEqual(ceilings[name].functions);
});

test("a plain task runs of the limits only their door, and what the process knows of settings", async () => {
  const { files } = await pathOf(
    typeOf(async () => 1),
    1,
  );
  const limits = files.filter((file) => file.startsWith("extras/limits/"));
  expect(limits).toEqual(["extras/limits/flow-book.ts", "extras/limits/index.ts"]);
});
