import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { workBatch } from "../../../../src/core/pipeline/work/work.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { catchStrayErrors } from "../../../../src/machine/stray-errors.ts";
import { pipelineWith, queueVisibilitySeconds } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";

const memoryPipeline = pipelineWith(limits);

/** Code of handlers that fails where nobody can catch it. */
const culprits: Readonly<Record<string, (task: TaskContext) => unknown>> = {
  "a promise that nobody awaits": () =>
    void (async () => {
      await sleep(5);
      throw new Error("stray");
    })(),
  "a promise that rejects at once": () => void Promise.reject(new Error("stray")),
  "a timer": () =>
    setTimeout(() => {
      throw new Error("stray");
    }, 5),
  "an immediate": () =>
    setImmediate(() => {
      throw new Error("stray");
    }),
  "an emitter": () => setTimeout(() => new EventEmitter().emit("error", new Error("stray")), 5),
  "an emitter of the next tick": () => process.nextTick(() => new EventEmitter().emit("error", new Error("stray"))),
  "a program that is not there": () => spawn("/no/stray/program"),
  "a submit without await": (task) => void task.submit({ type: "other", stray: 1 } as never),
  "an effect without await": (task) => void task.once("", () => 1),
};

const longMs = 60;

const worker = defineTask({
  name: "worker",
  input: z.object({ culprit: z.string().nullable() }),
  maxAttempts: 1,
  handler: async ({ culprit }, task) => {
    if (culprit !== null) culprits[culprit]?.(task);
    await sleep(longMs);
    return culprit;
  },
});

const variant = (more: Partial<TaskType>): TaskType => ({ ...worker, ...more });

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

let release: () => void;
const onException = vi.fn();
const own = vi.fn();
beforeEach(() => {
  onException.mockReset();
  own.mockReset();
  release = catchStrayErrors({ own, onException });
});
afterEach(() => release());

/** Works on one batch with these culprits, in the order of their tasks. */
async function batchOf(given: readonly (string | null)[], type: TaskType = worker) {
  const pipeline = memoryPipeline([type]);
  const tasks = [];
  for (const culprit of given) tasks.push(await pipeline.accept({ input: { culprit } }));
  const deliveries = pipeline.queues.take("normal", given.length, queueVisibilitySeconds);
  const verdicts = await workBatch({ ...pipeline.ports, turn }, deliveries, pipeline.clock.now() + 900_000);
  const records = await Promise.all(tasks.map(async (task) => pipeline.recordOf(task)));
  return { ...pipeline, verdicts, records };
}

describe("an error that nobody catches", () => {
  test.each(Object.keys(culprits))(
    "of %s fails its own attempt, with its stack, and touches no other task",
    async (name) => {
      const { records, verdicts } = await batchOf([null, name, null, null]);
      expect(verdicts).toEqual(["done", "done", "done", "done"]);
      expect(records.map(({ status }) => status)).toEqual(["completed", "failed", "completed", "completed"]);
      const [attempt] = records[1]?.history ?? [];
      expect(attempt).toMatchObject({ outcome: "failed", error: expect.stringMatching(/stray|once: the key/) });
      if (!name.includes("program")) expect(attempt?.stack).toMatch(/strays\.test\.ts:\d+/);
      expect(own).not.toHaveBeenCalled();
    },
  );

  test("fails its attempt at once, also when the handler returned in the same turn", async () => {
    const type = variant({ handler: () => void Promise.reject(new Error("stray")) });
    const { records } = await batchOf([null], type);
    expect(records[0]).toMatchObject({ status: "failed", error: "stray" });
  });

  test("counts as its attempt's own when it is no error", async () => {
    const type = variant({
      handler: async () => {
        void Promise.reject({ code: "E7", reason: "declined" });
        await sleep(longMs);
      },
    });
    const { records } = await batchOf([null], type);
    expect(records[0]).toMatchObject({
      status: "failed",
      error_type: "E7",
      error: expect.stringContaining("declined"),
    });
  });

  test("says that the process must be replaced if it was an exception, and not if it was a rejection", async () => {
    await batchOf(["a promise that nobody awaits"]);
    expect(onException).not.toHaveBeenCalled();
    await batchOf(["a timer"]);
    expect(onException).toHaveBeenCalledOnce();
  });

  test("after the attempt's end is logged with its stack and counted, and changes nothing", async () => {
    const late = variant({
      handler: () => void sleep(20).then(() => Promise.reject(new Error("too late"))),
    });
    const { log, metrics, records } = await batchOf([null, null], late);
    expect(records.map(({ status }) => status)).toEqual(["completed", "completed"]);
    await vi.waitFor(() => expect(metrics.sum("stray_errors")).toBe(2), { timeout: 300_000 });
    const lines = log.lines.filter(({ level }) => level === "warn");
    expect(lines.map(({ fields }) => fields)).toEqual(
      records.map(({ task_id }) =>
        expect.objectContaining({
          ...{ task_id, type: "worker", error: "too late", error_type: "Error" },
          stack: expect.stringMatching(/strays\.test\.ts:\d+/),
        }),
      ),
    );
  });

  test("of a sensitive type is not told after its end", async () => {
    const late = variant({ sensitive: true, handler: () => void sleep(5).then(() => Promise.reject("card 4111")) });
    const { log, metrics } = await batchOf([null], late);
    await vi.waitFor(() => expect(metrics.sum("stray_errors")).toBe(1), { timeout: 300_000 });
    expect(JSON.stringify(log.lines)).not.toContain("card 4111");
  });

  test.each<[string, (task: TaskContext) => unknown]>([
    [
      "a listener of the signal that throws",
      ({ signal }) =>
        signal.addEventListener("abort", () => {
          throw new Error("stray");
        }),
    ],
    ["a child process that ends with the signal", ({ signal }) => spawn("sleep", ["20"], { signal })],
    ["a promise that rejects with the signal", ({ signal }) => void sleep(10_000, undefined, { signal })],
  ])("when the time is over leaves the time-out its word: %s", async (_, start) => {
    const type = variant({
      timeoutSeconds: 1,
      handler: (_input, task) => {
        start(task);
        return new Promise(() => {});
      },
    });
    const pipeline = memoryPipeline([type]);
    const task = await pipeline.accept({ input: { culprit: null } });
    const deliveries = pipeline.queues.take("normal", 1, queueVisibilitySeconds);
    const working = workBatch({ ...pipeline.ports, turn }, deliveries, pipeline.clock.now() + 900_000);
    await sleep(20);
    await pipeline.clock.advance(1_000);
    await working;
    const record = await pipeline.recordOf(task);
    expect(record.history).toMatchObject([{ outcome: "timed_out", error_kind: "timed_out" }]);
    await vi.waitFor(() => expect(pipeline.metrics.sum("stray_errors")).toBe(1), { timeout: 300_000 });
  });

  test("that belongs to no attempt is the process's own", async () => {
    void Promise.reject(new Error("own"));
    await vi.waitFor(() => expect(own).toHaveBeenCalledOnce(), { timeout: 300_000 });
  });
});

test("of 200 tasks in batches of ten, each tenth of which strays, each innocent one completes in its first attempt", async () => {
  const names = Object.keys(culprits);
  for (let batch = 0; batch < 20; batch++) {
    const culprit = names[batch % names.length] ?? null;
    const { records } = await batchOf(Array.from({ length: 10 }, (_, index) => (index === 7 ? culprit : null)));
    for (const [index, record] of records.entries()) {
      expect(record).toMatchObject({ status: index === 7 ? "failed" : "completed", attempts: 1 });
    }
    expect(records[7]?.error).toMatch(/stray|once: the key/);
  }
});

describe("an async key of a limit", () => {
  test.each(["concurrency", "rateLimit"] as const)("%s: it fails its task, and no process", async (limit) => {
    const key = (async () => {
      throw new Error("no key");
    }) as never;
    const option =
      limit === "concurrency" ? { concurrency: { key, limit: 1 } } : { rateLimit: { key, limit: 1, perSeconds: 1 } };
    const { records } = await batchOf([null], variant(option));
    expect(records[0]).toMatchObject({
      status: "failed",
      error: expect.stringContaining(`${limit}.key returned a promise`),
    });
    expect(own).not.toHaveBeenCalled();
  });
});
