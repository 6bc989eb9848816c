import { describe, expect, test } from "vitest";
import { signal } from "../../../../src/core/extras/steps/signal.ts";
import { iso, type TaskKey } from "../../../../src/core/model/record.ts";
import { viewOf } from "../../../../src/core/pipeline/end/view.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { memoryPipeline, type Pipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const send = async (pipeline: Pipeline, key: TaskKey, name: string, body: unknown) =>
  signal(pipeline.ports, await pipeline.recordOf(key), name, body);

const handling = (handler: (task: TaskContext, pipeline: Pipeline) => unknown): Pipeline => {
  const pipeline: Pipeline = memoryPipeline([typeOf((_, task) => handler(task, pipeline))]);
  return pipeline;
};

const resultOf = async (pipeline: Pipeline, key: TaskKey) => {
  const { status, result, error } = await pipeline.recordOf(key);
  expect({ status, error }).toEqual({ status: "completed", error: undefined });
  return result;
};

describe("sleepUntil", () => {
  test.each([
    ["a date", (at: number) => new Date(at)],
    ["a text", (at: number) => new Date(at).toISOString()],
    ["a text with an offset", (at: number) => new Date(at + 7_200_000).toISOString().replace("Z", "+02:00")],
  ])("goes on at %s, which each attempt may say in another way", async (_, given) => {
    let calls = 0;
    const pipeline: Pipeline = handling((task) => {
      calls += 1;
      return task.sleepUntil(given(startMs + 86_400_000 * calls) as Date).then(() => iso(pipeline.clock.now()));
    });
    const startMs = pipeline.clock.now();
    const task = await pipeline.accept();
    await pipeline.work();
    const until = iso(startMs + 86_400_000);
    expect((await pipeline.recordOf(task)).waiting_for).toEqual({ kind: "sleep", until });
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toBe(until);
  });

  test("does not wait for a time that has passed", async () => {
    const pipeline = handling((task) => task.sleepUntil(new Date(0)).then(() => task.attemptOverall));
    const task = await pipeline.accept();
    await pipeline.work();
    expect(await resultOf(pipeline, task)).toBe(1);
  });

  test.each<[unknown, string]>([
    ["tomorrow", "expected a Date"],
    ["2027-04-07T10:00:00", "expected a Date"],
    [new Date(Number.NaN), "expected a Date"],
    [1_800_000_000_000, "expected a Date"],
    [undefined, "expected a Date"],
    ["2199-01-01T00:00:00Z", "more than a year away"],
  ])("refuses %s for good", async (given, error) => {
    const pipeline = handling((task) => task.sleepUntil(given as Date));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
    expect((await pipeline.recordOf(task)).error).toContain(error);
  });
});

describe("waitFor until a time", () => {
  test("times out then", async () => {
    const pipeline: Pipeline = handling(async (task) => {
      const got = await task.waitFor("a", { until: new Date(startMs + 3_600_000) });
      return [got ?? null, pipeline.clock.now() - startMs];
    });
    const startMs = pipeline.clock.now();
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual([null, 3_600_000]);
  });

  test("has a signal that came before, also when the time has passed", async () => {
    const pipeline = handling((task) => task.waitFor("a", { until: new Date(0) }));
    const task = await pipeline.accept({ delay_seconds: 60 });
    await send(pipeline, task, "a", 7);
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toBe(7);
  });

  test("has one end", async () => {
    const pipeline = handling((task) => task.waitFor("a", { until: new Date(), timeoutSeconds: 1 } as never));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect((await pipeline.recordOf(task)).error).toContain("either timeoutSeconds or until");
  });
});

describe("waitForAny", () => {
  const any = (behind: (task: TaskContext) => Promise<unknown> = async () => undefined) =>
    handling(async (task) => {
      const answer = await task.waitForAny({ reject: {}, approve: {} }, { timeoutSeconds: 1200 });
      await behind(task);
      return answer ?? null;
    });

  test("is woken by each of its signals, and returns the name and the body", async () => {
    const pipeline = any();
    const task = await pipeline.accept();
    await pipeline.work();
    expect(viewOf(await pipeline.recordOf(task), iso(pipeline.clock.now()))).toMatchObject({
      status: "pending",
      waiting_for: { kind: "signal", signals: ["approve", "reject"] },
    });
    await send(pipeline, task, "reject", { by: "ada" });
    await pipeline.work();
    expect(await resultOf(pipeline, task)).toEqual({ name: "reject", body: { by: "ada" } });
  });

  test("returns the signal that came first, whatever comes later", async () => {
    const pipeline = any((task) => task.sleep(60));
    const task = await pipeline.accept({ delay_seconds: 60 });
    await send(pipeline, task, "reject", 1);
    await pipeline.clock.advance(5);
    await send(pipeline, task, "approve", 2);
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual({ name: "reject", body: 1 });
  });

  test("keeps its answer, though another signal comes before the next attempt, from a machine with a slow clock", async () => {
    const pipeline = any((task) => task.sleep(60));
    const task = await pipeline.accept();
    await pipeline.work();
    await send(pipeline, task, "reject", 1);
    await pipeline.work();
    await pipeline.ports.steps.add(task, { kind: "signal", name: "approve", value: "2", at: iso(0) }, 9e9);
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual({ name: "reject", body: 1 });
  });

  test("times out, and then no signal of its names is taken", async () => {
    const pipeline = any((task) => task.sleep(600));
    const task = await pipeline.accept();
    await pipeline.work();
    await pipeline.clock.advance(1_200_000);
    await pipeline.fire();
    await pipeline.work();
    await expect(send(pipeline, task, "approve", 1)).rejects.toThrow("timed out");
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toBeNull();
  });

  test("a signal that comes as it times out is its answer", async () => {
    const pipeline = any();
    const task = await pipeline.accept();
    await pipeline.work();
    await pipeline.clock.advance(1_200_000);
    await pipeline.fire();
    const add = pipeline.ports.steps.add.bind(pipeline.ports.steps);
    pipeline.ports.steps.add = async (owner, entry, purgeAt) => {
      pipeline.ports.steps.add = add;
      await add(owner, { kind: "signal", name: "reject", value: "7", at: iso(pipeline.clock.now()) }, purgeAt);
      return add(owner, entry, purgeAt);
    };
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual({ name: "reject", body: 7 });
  });

  test("counts none of its names as unread", async () => {
    const names = Array.from({ length: 10 }, (_, n) => `n${n}`);
    const pipeline = handling(async (task) => {
      const answer = await task.waitForAny(Object.fromEntries(names.map((name) => [name, {}])), { timeoutSeconds: 9 });
      await task.waitFor("end", { timeoutSeconds: 86_400 });
      return answer?.name;
    });
    const task = await pipeline.accept({ delay_seconds: 60 });
    for (const name of names) await send(pipeline, task, name, "x".repeat(100_000));
    await pipeline.clock.advance(60_000);
    await pipeline.work();
    await send(pipeline, task, "other", "x".repeat(200_000));
    await send(pipeline, task, "end", null);
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toBe("n0");
  });

  test.each<[unknown, string]>([
    [{}, "1 to 10 names"],
    [undefined, "1 to 10 names"],
    [Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`n${n}`, {}])), "1 to 10 names"],
    [{ "a b": {} }, "waitForAny: a name has"],
  ])("refuses the names %j for good", async (names, error) => {
    const pipeline = handling((task) => task.waitForAny(names as never, { timeoutSeconds: 1 }));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
    expect((await pipeline.recordOf(task)).error).toContain(error);
  });
});

test("a handler knows its last attempt, the most of them, and the time", async () => {
  const seen: unknown[] = [];
  const pipeline: Pipeline = handling((task) => {
    seen.push([task.attempt, task.maxAttempts, task.isLastAttempt, task.now().getTime() - startMs]);
    throw new Error("again");
  });
  const startMs = pipeline.clock.now();
  await pipeline.accept({ max_attempts: 2 });
  await pipeline.drain();
  expect(seen).toEqual([
    [1, 2, false, 0],
    [2, 2, true, 30_000],
  ]);
});
