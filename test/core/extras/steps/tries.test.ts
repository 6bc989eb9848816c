import { describe, expect, test } from "vitest";
import { cancel, retry } from "../../../../src/core/control/control.ts";
import { runNow } from "../../../../src/core/control/run-now.ts";
import { StepFailed, StepTimedOut } from "../../../../src/core/extras/steps/step-tools.ts";
import { BusinessRuleViolation, PermanentError, RetryAfter } from "../../../../src/core/model/errors.ts";
import { iso, type TaskKey } from "../../../../src/core/model/record.ts";
import { viewOf } from "../../../../src/core/pipeline/end/view.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { StepOptions } from "../../../../src/core/task/step-calls.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(operations);

const fast: StepOptions = { maxAttempts: 3, retry: { baseSeconds: 10, factor: 3 } };

const shown = async (pipeline: Pipeline, key: TaskKey) =>
  viewOf(await pipeline.recordOf(key), iso(pipeline.clock.now()));

interface Failing {
  options?: StepOptions;
  type?: Partial<TaskType>;
  /** The handler behind its step. */
  handler?: (step: () => Promise<unknown>, task: TaskContext) => unknown;
}

/** A pipeline whose task has a step that throws some errors, and the times of the step's attempts, in seconds. */
function failing(errors: unknown[], { options = fast, type, handler = (step) => step() }: Failing = {}) {
  const calls: number[] = [];
  const keys = new Set<string>();
  const pipeline: Pipeline = memoryPipeline([
    typeOf(
      (_, task) =>
        handler(
          () =>
            task.step("charge", options, (key) => {
              calls.push(pipeline.clock.now());
              keys.add(key);
              if (errors.length > 0) throw errors.shift();
              return { paid: true };
            }),
          task,
        ),
      type,
    ),
  ]);
  const startMs = pipeline.clock.now();
  return { pipeline, keys, seconds: () => calls.map((at) => Math.round((at - startMs) / 1000)) };
}

describe("a step with attempts of its own", () => {
  test("is tried again after its waits, without a worker and without an attempt of the task", async () => {
    const { pipeline, seconds, keys } = failing([new Error("503"), new Error("503 again")]);
    const task = await pipeline.accept();
    await pipeline.work();
    expect(await shown(pipeline, task)).toMatchObject({
      status: "pending",
      attempts: 1,
      error: null,
      waiting_for: { kind: "step", step: "charge", attempt: 2, until: iso(pipeline.clock.now() + 10_000) },
    });
    await pipeline.clock.advance(10_000);
    await pipeline.work();
    expect((await shown(pipeline, task)).waiting_for).toMatchObject({ step: "charge", attempt: 3 });
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", attempts: 1, result: { paid: true } });
    expect(seconds()).toEqual([0, 10, 40]);
    expect(keys.size).toBe(1);
  });

  test("fails the task for good after the last attempt, once", async () => {
    const { pipeline, seconds } = failing(Array.from({ length: 9 }, (_, n) => new Error(`down ${n}`)));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(seconds()).toHaveLength(3);
    expect(await pipeline.recordOf(task)).toMatchObject({
      status: "failed",
      attempts: 1,
      error_type: "StepFailed",
      error_kind: "permanent",
      error: 'step "charge" failed after 3 attempts: down 2',
    });
  });

  test("gives its handler an error with the cause, in each later attempt too", async () => {
    const caught: StepFailed[] = [];
    const { pipeline, seconds } = failing([new Error("one"), new TypeError("two")], {
      options: { maxAttempts: 2, retry: { baseSeconds: 5 } },
      handler: async (step, task) => {
        await step().catch((error) => caught.push(error));
        await task.sleep(100);
        return "in another way";
      },
    });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect((await pipeline.recordOf(task)).result).toBe("in another way");
    expect(seconds()).toEqual([0, 5]);
    expect(caught).toHaveLength(2);
    for (const error of caught) {
      expect(error).toBeInstanceOf(StepFailed);
      expect(error).toMatchObject({ step: "charge", attempts: 2, kind: "permanent" });
      expect(error.cause).toMatchObject({ name: "TypeError", message: "two", kind: "transient" });
    }
    expect(caught[0]?.cause.stack).toContain("tries.test.ts");
  });

  test.each([
    [new PermanentError("closed"), { error_kind: "permanent" }],
    [new BusinessRuleViolation("over its limit"), { error_kind: "business_rule", needs_review: true }],
    [Object.assign(new Error("no such order"), { status: 404 }), { error_kind: "permanent" }],
  ])("is not tried again after %s", async (error, record) => {
    const { pipeline, seconds } = failing([error]);
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(seconds()).toEqual([0]);
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", ...record });
  });

  test("waits as long as the other service asks for", async () => {
    const { pipeline, seconds } = failing([new RetryAfter(120)]);
    await pipeline.accept();
    await pipeline.drain();
    expect(seconds()).toEqual([0, 120]);
  });

  test("has the policy of its type for a kind of failure, and the type's waits without its own", async () => {
    const { pipeline, seconds } = failing([new Error("x"), Object.assign(new Error("full"), { status: 429 })], {
      options: { maxAttempts: 4 },
      type: { retry: { waitsSeconds: [7], kinds: { rate_limited: { baseSeconds: 60 } } } },
    });
    await pipeline.accept();
    await pipeline.drain();
    expect(seconds()).toEqual([0, 7, 67]);
  });

  test("starts anew with a retry of its failed task", async () => {
    const { pipeline, seconds } = failing([new Error("1"), new Error("2"), new Error("3"), new Error("4")]);
    const task = await pipeline.accept();
    await pipeline.drain();
    expect((await pipeline.recordOf(task)).status).toBe("failed");
    await retry(pipeline.ports, await pipeline.recordOf(task));
    await pipeline.drain();
    expect(seconds()).toEqual([0, 10, 40, 40, 50]);
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: { paid: true } });
  });

  test("an attempt that takes too long is timed out, its signal fires, and its late end does not count", async () => {
    const reasons: unknown[] = [];
    const late: (() => void)[] = [];
    const pipeline: Pipeline = memoryPipeline([
      typeOf((_, task) =>
        task.step(
          "slow",
          { maxAttempts: 2, retry: { baseSeconds: 1 }, timeoutSeconds: 5 },
          (_key, { attempt, signal }) => {
            if (attempt === 2) return "quick";
            signal.addEventListener("abort", () => reasons.push(signal.reason));
            return new Promise((resolve) => late.push(() => resolve("late")));
          },
        ),
      ),
    ]);
    const task = await pipeline.accept();
    const working = pipeline.work();
    await pipeline.clock.advance(1);
    await pipeline.clock.advance(5_000);
    await pipeline.clock.advance(1);
    late[0]?.();
    await working;
    expect(reasons).toEqual([expect.any(StepTimedOut)]);
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1, result: "quick" });
  });

  test("with a time-out alone fails as the attempt of its task", async () => {
    let calls = 0;
    const pipeline: Pipeline = memoryPipeline([
      typeOf((_, task) =>
        task.step("slow", { timeoutSeconds: 5 }, () => {
          calls += 1;
          return calls > 1 ? "quick" : new Promise(() => {});
        }),
      ),
    ]);
    const task = await pipeline.accept();
    const working = pipeline.work();
    await pipeline.clock.advance(1);
    await pipeline.clock.advance(5_000);
    await working;
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", attempts: 1, error_type: "StepTimedOut" });
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2, result: "quick" });
  });

  test("parallel ones wait and are tried again each by itself", async () => {
    const calls: string[] = [];
    const pipeline: Pipeline = memoryPipeline([
      typeOf((_, task) => {
        const one = (name: string, failures: number, baseSeconds: number) => {
          return task.step(name, { maxAttempts: 5, retry: { baseSeconds, factor: 1 } }, (_key, { attempt }) => {
            calls.push(`${name}${attempt}`);
            if (attempt <= failures) throw new Error(`${name} fails`);
            return name;
          });
        };
        return Promise.all([one("a", 2, 10), one("b", 0, 10), one("c", 1, 25)]);
      }),
    ]);
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1, result: ["a", "b", "c"] });
    expect(calls.toSorted()).toEqual(["a1", "a2", "a3", "b1", "c1", "c2"]);
  });

  test("a task that waits for one can be cancelled, and cannot be started now", async () => {
    const { pipeline, seconds } = failing([new Error("x")]);
    const task = await pipeline.accept();
    await pipeline.work();
    const record = await pipeline.recordOf(task);
    await expect(runNow(pipeline.ports, record)).rejects.toThrow("waits for attempt 2 of its step charge");
    await cancel(pipeline.ports, record);
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "cancelled" });
    expect(seconds()).toEqual([0]);
  });

  test("an attempt that has lost its lease cannot change the end of a try", async () => {
    const { pipeline, seconds } = failing([new Error("mine")]);
    const task = await pipeline.accept();
    const add = pipeline.ports.steps.add.bind(pipeline.ports.steps);
    pipeline.ports.steps.add = async (owner, entry, purgeAt) => {
      pipeline.ports.steps.add = add;
      // The other attempt's try has returned meanwhile.
      await add(owner, { kind: "try", name: "charge #1", order: 1, sequential: true, value: '"theirs"' }, purgeAt);
      return add(owner, entry, purgeAt);
    };
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: "theirs" });
    expect(seconds()).toEqual([0]);
  });

  test("an attempt of the task that is cut off is none of the step", async () => {
    const attempts: number[] = [];
    const pipeline: Pipeline = memoryPipeline([
      typeOf(
        (_, task) =>
          task.step("cut", { maxAttempts: 1 }, (_key, { attempt, signal }) => {
            attempts.push(attempt);
            if (attempts.length > 1) return "done";
            return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          }),
        { timeoutSeconds: 10 },
      ),
    ]);
    const task = await pipeline.accept();
    const working = pipeline.work();
    await pipeline.clock.advance(1);
    await pipeline.clock.advance(10_000);
    await working;
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", error_kind: "timed_out" });
    expect(await pipeline.ports.steps.load(task)).toEqual([]);
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2, result: "done" });
    expect(attempts).toEqual([1, 1]);
  });

  test.each<[StepOptions, string]>([
    [{ maxAttempts: 0 }, "maxAttempts"],
    [{ maxAttempts: 21 }, "maxAttempts"],
    [{ maxAttempts: 1.5 }, "maxAttempts"],
    [{ retry: { baseSeconds: -1 } }, "retry.baseSeconds"],
    [{ retry: { factor: 0 } }, "retry.factor"],
    [{ timeoutSeconds: 0 }, "timeoutSeconds"],
    [{ attempts: 3 } as never, '"attempts"'],
    ["fast" as never, "an object"],
    [null as never, "an object"],
  ])("refuses the options %j for good", async (options, what) => {
    const { pipeline, seconds } = failing([], { options });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
    expect((await pipeline.recordOf(task)).error).toContain(what);
    expect(seconds()).toEqual([]);
  });

  test("costs a put for each try, and a step without options what it did", async () => {
    const puts = async (options?: StepOptions) => {
      const pipeline: Pipeline = memoryPipeline([
        typeOf((_, task) => (options ? task.step("a", options, () => 1) : task.step("a", () => 1))),
      ]);
      let count = 0;
      const { steps } = pipeline.ports;
      const add = steps.add.bind(steps);
      steps.add = (...given) => {
        count += 1;
        return add(...given);
      };
      await pipeline.accept();
      await pipeline.drain();
      return count;
    };
    expect(await puts()).toBe(1);
    expect(await puts(fast)).toBe(1);
  });
});
