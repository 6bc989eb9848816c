import { expect, test } from "vitest";
import { cancel } from "../../../../src/core/control/control.ts";
import { signal } from "../../../../src/core/extras/steps/signal.ts";
import { Problem } from "../../../../src/core/model/problem.ts";
import type { TaskKey } from "../../../../src/core/model/record.ts";
import { gate } from "../../../support/gate.ts";
import { memoryPipeline, type Pipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const send = async (pipeline: Pipeline, key: TaskKey, name: string, body: unknown) =>
  signal(pipeline.ports, await pipeline.recordOf(key), name, body);

/** A pipeline whose task waits for `approved`, and what it got. */
function waiting(timeoutSeconds: number) {
  const got: unknown[] = [];
  const handler = typeOf(async (_, task) => {
    got.push(await task.waitFor("approved", { timeoutSeconds }));
    return task.attempt;
  });
  return { got, pipeline: memoryPipeline([handler]) };
}

test("a signal wakes the task that waits for it, without a wait and without an attempt", async () => {
  const { got, pipeline } = waiting(86_400);
  const task = await pipeline.accept();
  await pipeline.work();
  const record = await pipeline.recordOf(task);
  expect(record).toMatchObject({
    status: "pending",
    attempts: 0,
    waiting_for: { kind: "signal", signals: ["approved"] },
  });
  expect(pipeline.oneOffs.all().size).toBe(1);
  await pipeline.clock.advance(3_600_000);
  const startMs = pipeline.clock.now();
  expect((await send(pipeline, task, "approved", { by: "ada" })).waiting_for).toBeUndefined();
  expect(pipeline.oneOffs.all().size).toBe(0);
  await pipeline.drain();
  expect(pipeline.clock.now()).toBe(startMs);
  expect(got).toEqual([{ by: "ada" }]);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1, attempts_total: 2 });
});

test("a wait without a signal times out, at its time", async () => {
  const { got, pipeline } = waiting(1200);
  const task = await pipeline.accept();
  const startMs = pipeline.clock.now();
  await pipeline.drain();
  expect(got).toEqual([undefined]);
  expect(pipeline.clock.now() - startMs).toBeGreaterThanOrEqual(1_200_000);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1 });
});

test("a signal that comes before the task has started answers its wait", async () => {
  const { got, pipeline } = waiting(86_400);
  const task = await pipeline.accept({ delay_seconds: 600 });
  await send(pipeline, task, "approved", 7);
  await pipeline.drain();
  expect(got).toEqual([7]);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1, attempts_total: 1 });
});

test("a signal that comes while the attempt runs, before its wait, answers it", async () => {
  const { opened, open } = gate();
  const got: unknown[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      await task.step("prepare", () => opened);
      got.push(await task.waitFor("approved", { timeoutSeconds: 86_400 }));
    }),
  ]);
  const task = await pipeline.accept();
  const working = pipeline.work();
  await pipeline.clock.advance(10);
  await send(pipeline, task, "approved", "early");
  open();
  for (let turn = 0; turn < 5; turn++) await pipeline.clock.advance(1);
  await working;
  const startMs = pipeline.clock.now();
  await pipeline.drain();
  expect(got).toEqual(["early"]);
  expect(pipeline.clock.now() - startMs).toBeLessThan(1000);
});

test("a repeated signal changes nothing, and a different one of its name is refused", async () => {
  const { got, pipeline } = waiting(86_400);
  const task = await pipeline.accept();
  await pipeline.work();
  await send(pipeline, task, "approved", { by: "ada" });
  await send(pipeline, task, "approved", { by: "ada" });
  await expect(send(pipeline, task, "approved", { by: "eve" })).rejects.toThrow(Problem);
  await pipeline.drain();
  expect(got).toEqual([{ by: "ada" }]);
});

test("a signal after the time-out, or after the end, is refused", async () => {
  const { opened, open } = gate();
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      await task.waitFor("approved", { timeoutSeconds: 1200 });
      await opened;
    }),
  ]);
  const task = await pipeline.accept();
  await pipeline.work();
  await pipeline.clock.advance(1_200_000);
  await pipeline.fire();
  await pipeline.clock.advance(60_000);
  const working = pipeline.work();
  await pipeline.clock.advance(1);
  await expect(send(pipeline, task, "approved", 1)).rejects.toThrow("timed out");
  open();
  await working;
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed" });
  await expect(send(pipeline, task, "other", 1)).rejects.toThrow("A task that is completed cannot get a signal");
});

/** Ends the task of a pipeline between the moment at which a signal is stored and the moment at which it is announced. */
function endsMeanwhile(pipeline: Pipeline): void {
  const { steps } = pipeline.ports;
  const add = steps.add.bind(steps);
  steps.add = async (...given) => {
    const stored = await add(...given);
    steps.add = add;
    await pipeline.drain();
    return stored;
  };
}

test("a signal that the handler got is accepted, also when its attempt has ended the task meanwhile", async () => {
  const { got, pipeline } = waiting(60);
  const task = await pipeline.accept();
  await pipeline.work();
  endsMeanwhile(pipeline);
  expect((await send(pipeline, task, "approved", 7)).status).toBe("completed");
  expect(got).toEqual([7]);
});

test("a signal that nobody waited for is refused when the task has ended meanwhile", async () => {
  const { pipeline } = waiting(60);
  const task = await pipeline.accept();
  await pipeline.work();
  endsMeanwhile(pipeline);
  await expect(send(pipeline, task, "other", 7)).rejects.toThrow("A task that is completed cannot get a signal");
});

test("a task can wait for two signals at the same time, and sleep beside them", async () => {
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      const limit = task.sleep(86_400).then(() => "too late");
      const first = task.waitFor("first", { timeoutSeconds: 31_536_000 });
      const second = task.waitFor("second", { timeoutSeconds: 31_536_000 });
      return Promise.race([limit, Promise.all([first, second])]);
    }),
  ]);
  const task = await pipeline.accept();
  await pipeline.work();
  expect((await pipeline.recordOf(task)).waiting_for).toMatchObject({ kind: "signal", signals: ["first", "second"] });
  await send(pipeline, task, "second", 2);
  await pipeline.work();
  expect((await pipeline.recordOf(task)).waiting_for).toMatchObject({ kind: "signal", signals: ["first"] });
  await send(pipeline, task, "first", 1);
  await pipeline.work();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1, result: [1, 2] });
});

test("a signal of another name does not wake a task", async () => {
  const { got, pipeline } = waiting(1200);
  const task = await pipeline.accept();
  await pipeline.work();
  await send(pipeline, task, "rejected", 1);
  expect(pipeline.queues.waiting("normal")).toEqual([]);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", waiting_for: { signals: ["approved"] } });
  await pipeline.drain();
  expect(got).toEqual([undefined]);
});

test("a task that waits can be cancelled", async () => {
  const { got, pipeline } = waiting(86_400);
  const task = await pipeline.accept();
  await pipeline.work();
  await cancel(pipeline.ports, await pipeline.recordOf(task));
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "cancelled" });
  expect(got).toEqual([]);
});

test("a signal whose message is lost can be sent again", async () => {
  const { got, pipeline } = waiting(86_400);
  const task = await pipeline.accept();
  await pipeline.work();
  const record = await pipeline.recordOf(task);
  const broken = {
    ...pipeline.ports,
    queues: { ...pipeline.ports.queues, send: () => Promise.reject(new Error("lost")) },
  };
  await expect(signal(broken as never, record, "approved", 1)).rejects.toThrow("lost");
  await send(pipeline, task, "approved", 1);
  await pipeline.work();
  expect(got).toEqual([1]);
});

test("signals that nobody has waited for have a quota, and a repeat is taken", async () => {
  const { pipeline } = waiting(86_400);
  const task = await pipeline.accept({ delay_seconds: 600 });
  for (let n = 0; n < 100; n++) await send(pipeline, task, `signal-${n}`, n);
  await expect(send(pipeline, task, "one-more", 1)).rejects.toMatchObject({ code: "quota_exceeded" });
  await send(pipeline, task, "signal-7", 7);
  const heavy = await pipeline.accept({ delay_seconds: 600 });
  const body = "x".repeat(262_000);
  for (let n = 0; n < 4; n++) await send(pipeline, heavy, `signal-${n}`, body);
  await expect(send(pipeline, heavy, "one-more", body)).rejects.toMatchObject({ code: "quota_exceeded" });
});

test.each([true, false])(
  "a signal that takes longer than its task may wait is judged by the task as it is then (it started: %s)",
  async (starts) => {
    const held = gate();
    const pipeline = memoryPipeline([typeOf(() => held.opened, { timeoutSeconds: 300 })]);
    const task = await pipeline.accept({ expires_in_seconds: 60 });
    const { steps } = pipeline.ports;
    const add = steps.add.bind(steps);
    steps.add = async (...given) => {
      await new Promise<void>((resolve) => pipeline.clock.after(90_000, resolve));
      return add(...given);
    };
    const sent = send(pipeline, task, "approved", 7).then(
      ({ signals }) => signals,
      (error: Problem) => error.code,
    );
    await pipeline.clock.advance(1_000);
    if (starts) void pipeline.work();
    await pipeline.clock.advance(1_000);
    await pipeline.clock.advance(90_000);
    expect(await sent).toBe(starts ? 1 : "conflict");
    held.open();
  },
);
