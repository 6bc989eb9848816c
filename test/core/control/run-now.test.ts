import { describe, expect, test, vi } from "vitest";
import { cancel } from "../../../src/core/control/control.ts";
import { runNow } from "../../../src/core/control/run-now.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { iso } from "../../../src/core/model/record.ts";
import type { TaskType } from "../../../src/core/task/task.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { typeOf } from "../../support/task-types.ts";

const setUp = (handler: TaskType["handler"] = () => "result", more: Partial<TaskType> = {}) => {
  const ran: unknown[] = [];
  const type = typeOf(
    (input, task) => {
      ran.push(input);
      return handler(input, task);
    },
    { retry: { waitsSeconds: [600], jitter: "none" }, ...more },
  );
  return { ...memoryPipeline([type]), ran };
};

/** Fails the first attempt only. */
const failsOnce = () => {
  let failed = false;
  return () => {
    if (failed) return "result";
    failed = true;
    throw new Error("try again");
  };
};

const inputs: [string, unknown][] = [
  ["a small input", { n: 1 }],
  ["an input that its record does not keep", { text: "x".repeat(2_000) }],
  ["an input in the bucket", { text: "x".repeat(50_000) }],
];

describe("a task that waits for its time", () => {
  test.each(inputs)("with %s runs now in place of after its delay, once", async (_, input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input, delay_seconds: 600 });
    await pipeline.clock.advance(1_000);
    const due = await runNow(pipeline.ports, record);
    expect(due).toMatchObject({ status: "pending", due_at: iso(pipeline.clock.now()) });
    await pipeline.work(record.priority);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 1 });
    await pipeline.clock.advance(700_000);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([input]);
  });

  test.each(inputs)("with %s runs now in place of at its next attempt, once", async (_, input) => {
    const pipeline = setUp(failsOnce());
    const record = await pipeline.accept({ input });
    await pipeline.work(record.priority);
    const waiting = await pipeline.recordOf(record);
    expect(waiting).toMatchObject({ status: "pending", error_kind: "transient" });
    await runNow(pipeline.ports, waiting);
    await pipeline.work(record.priority);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 2 });
    await pipeline.clock.advance(700_000);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([input, input]);
  });

  test("of a wait beyond SQS's delays runs now, and its one-off schedule is deleted", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 86_400 });
    expect(pipeline.ports.oneOffs.all().size).toBe(1);
    await runNow(pipeline.ports, record);
    expect(pipeline.ports.oneOffs.all().size).toBe(0);
    await pipeline.work(record.priority);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("gets its message again when the first call died before it was sent", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, delay_seconds: 600 });
    await pipeline.clock.advance(1_000);
    const sending = vi.spyOn(pipeline.ports.queues, "send");
    sending.mockRejectedValueOnce(new PortUnavailable("SQS", new Error("down")));
    await expect(runNow(pipeline.ports, record)).rejects.toThrow(PortUnavailable);
    await pipeline.clock.advance(1_000);
    await runNow(pipeline.ports, await pipeline.recordOf(record));
    await pipeline.work(record.priority);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

test("a refused repeat with another input does not replace the stored message of a task that waits", async () => {
  const pipeline = setUp();
  const input = { text: "x".repeat(2_000) };
  const record = await pipeline.accept({ input, delay_seconds: 600 }, { idempotencyKey: "key" });
  const other = pipeline.accept({ input: { text: "y".repeat(2_000) }, delay_seconds: 600 }, { idempotencyKey: "key" });
  await expect(other).rejects.toMatchObject({ code: "idempotency_key_reused" });
  await runNow(pipeline.ports, record);
  await pipeline.work(record.priority);
  expect(pipeline.ran).toEqual([input]);
});

describe("a task that does not wait for its time is not_waiting", () => {
  test.each([
    ["is due", {}, async () => {}],
    ["has ended", {}, async (pipeline: ReturnType<typeof setUp>) => void (await pipeline.drain())],
    [
      "is cancelled",
      { delay_seconds: 600 },
      async ({ ports, recordOf }: ReturnType<typeof setUp>, key: Parameters<ReturnType<typeof setUp>["recordOf"]>[0]) =>
        void (await cancel(ports, await recordOf(key))),
    ],
  ])("because it %s", async (_, options, then) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 }, ...options });
    await then(pipeline, record);
    await expect(runNow(pipeline.ports, await pipeline.recordOf(record))).rejects.toMatchObject({
      code: "not_waiting",
    });
  });

  test("because it is due already", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { n: 1 } });
    await expect(runNow(pipeline.ports, record)).rejects.toMatchObject({
      code: "not_waiting",
      detail: expect.stringContaining("this task is due already, and waits for a worker"),
    });
  });

  test("because it sleeps", async () => {
    const pipeline = setUp(async (_, task) => {
      await task.sleep(3_600);
    });
    const record = await pipeline.accept({ input: { n: 1 } });
    await pipeline.work(record.priority);
    const sleeping = await pipeline.recordOf(record);
    expect(sleeping.waiting_for).toMatchObject({ kind: "sleep" });
    await expect(runNow(pipeline.ports, sleeping)).rejects.toMatchObject({
      code: "not_waiting",
      detail: `Only a wait for a retry or for a start time can be ended: this task sleeps in its handler, until ${iso(pipeline.clock.now() + 3_600_000)}.`,
    });
  });
});
