import { expect, test } from "vitest";
import { classify } from "../../../src/core/model/classify.ts";
import { PermanentError, RetryAfter, TaskError } from "../../../src/core/model/errors.ts";
import { currentTask, runAmbient } from "../../../src/core/task/ambient.ts";
import type { TaskContext } from "../../../src/core/task/context.ts";
import { FileResult, OutcomeResult } from "../../../src/core/task/result.ts";

type Copy<Module> = () => Promise<Module>;

/** Another copy of a module, as a process has it that loads the ES modules and the CommonJS files. */
const copyOf = <Module>(path: string): ReturnType<Copy<Module>> =>
  import(/* @vite-ignore */ `../../../src/core/${path}?copy`);

test("errors of another copy are task errors and keep their kind", async () => {
  const other = await copyOf<typeof import("../../../src/core/model/errors.ts")>("model/errors.ts");
  expect(other.PermanentError).not.toBe(PermanentError);
  const permanent = new other.PermanentError("closed");
  expect(permanent).toBeInstanceOf(TaskError);
  expect(permanent).not.toBeInstanceOf(RetryAfter);
  expect(classify(permanent, [], 0)).toMatchObject({ kind: "permanent", type: "PermanentError" });
  expect(classify(new other.RetryAfter(20), [], 0)).toMatchObject({ kind: "rate_limited", retryAfterSeconds: 20 });
});

test("a class of a task's own has only its own objects", () => {
  class Closed extends PermanentError {}
  expect(new Closed("closed")).toBeInstanceOf(PermanentError);
  expect(new PermanentError("closed")).not.toBeInstanceOf(Closed);
  expect(new Closed("closed")).toBeInstanceOf(Closed);
  expect([undefined, null, "closed", {}, new Error("closed")].map((one) => one instanceof PermanentError)).toEqual(
    Array(5).fill(false),
  );
});

test("files and outcomes of another copy are known", async () => {
  const other = await copyOf<typeof import("../../../src/core/task/result.ts")>("task/result.ts");
  expect(other.file("/tmp/a", { contentType: "text/plain", fileName: "a" })).toBeInstanceOf(FileResult);
  expect(other.withOutcome("DONE", 1)).toBeInstanceOf(OutcomeResult);
});

test("code of another copy finds the attempt that it runs in", async () => {
  const other = await copyOf<typeof import("../../../src/core/task/ambient.ts")>("task/ambient.ts");
  const context = { taskId: "t" } as TaskContext;
  const ambient = { context, isOpen: () => true, stray: () => {} };
  const found = runAmbient(ambient, () => [currentTask(), other.currentTask()]);
  expect(found).toEqual([context, context]);
});
