import { describe, expect, test } from "vitest";
import * as z from "zod";
import { signal } from "../../../../src/core/extras/steps/signal.ts";
import type { Problem } from "../../../../src/core/model/problem.ts";
import type { TaskKey } from "../../../../src/core/model/record.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { knownTypes } from "../../../../src/core/task/known-types.ts";
import { defineTask } from "../../../../src/core/task/task.ts";
import { nextSignalsOf, toCatalog } from "../../../../src/core/task/to-catalog.ts";
import { testKit } from "../../../../src/testkit/kit.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children);

/** A pipeline of one type, and what sends its tasks signals: a code, or "sent". */
function pipelineOf(handler: (input: never, task: TaskContext) => Promise<unknown>, more = {}) {
  const type = typeOf(handler, more);
  const pipeline: Pipeline = memoryPipeline([type]);
  const ports = { ...pipeline.ports, types: knownTypes(toCatalog([type])) };
  const send = async (key: TaskKey, body: unknown, idempotencyKey?: string, name = "message") =>
    signal(ports, await pipeline.recordOf(key), name, body, idempotencyKey).then(
      () => "sent",
      (error: unknown) => (error as Problem).code,
    );
  return { pipeline, send };
}

/** Reads messages until none comes for an hour. */
const reading = async (_: unknown, task: TaskContext): Promise<unknown[]> => {
  const read: unknown[] = [];
  for (;;) {
    const next = await task.nextSignal("message", { timeoutSeconds: 3_600 });
    if (next === undefined) return read;
    read.push(next);
  }
};

const resultOf = async (pipeline: Pipeline, key: TaskKey) => {
  const { status, result, error } = await pipeline.recordOf(key);
  expect({ status, error }).toEqual({ status: "completed", error: undefined });
  return result;
};

test("signals are read one after the other, in the order of their arrival, and hold no worker", async () => {
  const { pipeline, send } = pipelineOf(reading);
  const task = await pipeline.accept({ delay_seconds: 600 });
  for (const body of ["a", "b", "b"]) expect(await send(task, body)).toBe("sent");
  await pipeline.clock.advance(600_000);
  await pipeline.work();
  const record = await pipeline.recordOf(task);
  expect(record).toMatchObject({
    ...{ status: "pending", attempts: 0, attempts_total: 1 },
    waiting_for: { kind: "signal", signals: ["message"] },
  });
  await pipeline.clock.advance(600_000);
  for (const body of [{ c: 1 }, null]) {
    expect(await send(task, body)).toBe("sent");
    await pipeline.work();
  }
  const startMs = pipeline.clock.now();
  await pipeline.drain();
  expect(await resultOf(pipeline, task)).toEqual(["a", "b", "b", { c: 1 }, null]);
  expect(pipeline.clock.now() - startMs).toBeGreaterThanOrEqual(3_600_000);
  expect(await pipeline.recordOf(task)).toMatchObject({ attempts: 1 });
});

test("a signal that comes while an attempt runs is read by the next one", async () => {
  const started = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const { pipeline, send } = pipelineOf(async (_, task) => {
    await task.nextSignal("message", { timeoutSeconds: 60 });
    await task.step("slow", async () => {
      started.resolve();
      await goOn.promise;
    });
    return task.nextSignal("message", { timeoutSeconds: 60 });
  });
  const task = await pipeline.accept();
  await send(task, 1);
  const working = pipeline.work();
  await started.promise;
  expect(await send(task, 2)).toBe("sent");
  goOn.resolve();
  await working;
  await pipeline.drain();
  expect(await resultOf(pipeline, task)).toBe(2);
});

describe("the key of a request", () => {
  test("counts once, also at the same time as another one; without a key each request is one more", async () => {
    const { pipeline, send } = pipelineOf(reading);
    const task = await pipeline.accept();
    const codes = await Promise.all([
      ...[1, 2, 3].map(() => send(task, "once", "key")),
      ...[1, 2].map(() => send(task, "each")),
    ]);
    expect(codes).toEqual(["sent", "sent", "sent", "sent", "sent"]);
    await pipeline.work();
    expect(await send(task, "once", "key")).toBe("sent");
    await pipeline.drain();
    expect((await resultOf(pipeline, task)) as string[]).toHaveLength(3);
  });

  test("has one body", async () => {
    const { pipeline, send } = pipelineOf(reading);
    const task = await pipeline.accept();
    expect(await send(task, 1, "key")).toBe("sent");
    expect(await send(task, 2, "key")).toBe("idempotency_key_reused");
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual([1]);
  });
});

describe("at most 100 signals wait to be read", () => {
  test("also of 150 that come at the same time, and there is room again when some are read", async () => {
    const { pipeline, send } = pipelineOf(reading);
    const task = await pipeline.accept({ delay_seconds: 600 });
    const codes = await Promise.all(Array.from({ length: 150 }, (_, number) => send(task, number)));
    expect(codes.filter((code) => code === "sent")).toHaveLength(100);
    expect(codes.filter((code) => code === "quota_exceeded")).toHaveLength(50);
    expect(await send(task, "other", undefined, "message")).toBe("quota_exceeded");
    await pipeline.clock.advance(600_000);
    await pipeline.work();
    expect(await send(task, "last")).toBe("sent");
    await pipeline.drain();
    const read = (await resultOf(pipeline, task)) as unknown[];
    expect([read.length, read.at(-1)]).toEqual([101, "last"]);
  });

  test("of 1 MiB", async () => {
    const { pipeline, send } = pipelineOf(reading);
    const task = await pipeline.accept({ delay_seconds: 600 });
    const large = "x".repeat(250 * 1024);
    const codes = [];
    for (let count = 0; count < 5; count++) codes.push(await send(task, large));
    expect(codes).toEqual(["sent", "sent", "sent", "sent", "quota_exceeded"]);
  });

  test("those that were read do not count for other names, and others count", async () => {
    const { pipeline, send } = pipelineOf(reading);
    const task = await pipeline.accept();
    for (let count = 0; count < 110; count++) {
      expect(await send(task, count)).toBe("sent");
      if (count % 50 === 0) await pipeline.work();
    }
    await pipeline.work();
    expect(await send(task, 1, undefined, "unread")).toBe("sent");
    expect(await send(task, 2, undefined, "unread")).toBe("conflict");
  });
});

describe("a wait that times out", () => {
  test("is followed by signals that come later", async () => {
    const { pipeline, send } = pipelineOf(async (_, task) => {
      const first = await task.nextSignal("message", { timeoutSeconds: 60 });
      await task.sleep(60);
      const second = await task.nextSignal("message", { until: new Date(pipeline.clock.now() + 60_000) });
      return [first ?? "none", second];
    });
    const task = await pipeline.accept();
    await pipeline.work();
    await pipeline.clock.advance(61_000);
    await pipeline.work();
    expect((await pipeline.recordOf(task)).waiting_for).toMatchObject({ kind: "sleep" });
    expect(await send(task, "late")).toBe("sent");
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual(["none", "late"]);
  });

  test("of no time takes a signal that is there, and nothing else", async () => {
    const { pipeline, send } = pipelineOf(async (_, task) => {
      const read = [
        await task.nextSignal("message", { timeoutSeconds: 0 }),
        await task.nextSignal("message", { timeoutSeconds: 0 }),
      ];
      return read.map((one) => one ?? "none");
    });
    const task = await pipeline.accept();
    await send(task, 1);
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual([1, "none"]);
  });

  test("at the end of the task leaves its sender a conflict", async () => {
    const { pipeline, send } = pipelineOf(reading);
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual([]);
    expect(await send(task, 1)).toBe("conflict");
  });
});

test("each attempt reads the same signals again", async () => {
  let attempts = 0;
  const seen: unknown[] = [];
  const { pipeline, send } = pipelineOf(async (_, task) => {
    seen.push(await task.nextSignal("message", { timeoutSeconds: 60 }));
    attempts += 1;
    if (attempts === 1) throw new Error("once more");
    seen.push(await task.nextSignal("message", { timeoutSeconds: 60 }));
    return "done";
  });
  const task = await pipeline.accept();
  for (const body of [1, 2, 3]) await send(task, body);
  await pipeline.drain();
  expect(await resultOf(pipeline, task)).toBe("done");
  expect(seen).toEqual([1, 1, 2]);
});

test("aggregate goes on behind the signals that the handler has read", async () => {
  const child = typeOf(async () => "ok", { name: "test.child" });
  const parent = typeOf(
    async (_, task) => {
      await task.nextSignal("message", { timeoutSeconds: 60 });
      await task.spawn({ type: "test.child", input: null });
    },
    {
      children: {},
      aggregate: async (_, task) => [
        await task.nextSignal("message", { timeoutSeconds: 60 }),
        await task.nextSignal("message", { timeoutSeconds: 60 }),
      ],
    },
  );
  const pipeline = memoryPipeline([parent, child]);
  const ports = { ...pipeline.ports, types: knownTypes(toCatalog([parent, child])) };
  const task = await pipeline.accept();
  for (const body of [1, 2, 3]) await signal(ports, await pipeline.recordOf(task), "message", body);
  await pipeline.drain();
  expect(await resultOf(pipeline, task)).toEqual([2, 3]);
});

describe("a call that its handler's text does not show", () => {
  test("is known from the first one on", async () => {
    const handler = (input: never, task: TaskContext) => reading(input, task);
    expect(nextSignalsOf(typeOf(handler))).toEqual([]);
    const { pipeline, send } = pipelineOf(handler);
    const task = await pipeline.accept();
    await pipeline.work();
    for (const body of ["same", "same", "other"]) expect(await send(task, body, `key of ${body}`)).toBe("sent");
    await pipeline.clock.advance(1);
    expect(await send(task, "same")).toBe("sent");
    await pipeline.drain();
    expect(await resultOf(pipeline, task)).toEqual(["same", "other", "same"]);
  });
});

test("the names are read from the handler's text", () => {
  const type = typeOf(
    async (_, task) => {
      await task.nextSignal<string>("a.b", { timeoutSeconds: 1 });
      await task.nextSignal(`c`, { timeoutSeconds: 1 });
      await task.waitFor("w", { timeoutSeconds: 1 });
    },
    { aggregate: (_, task) => task.nextSignal("d-e", { timeoutSeconds: 1 }) },
  );
  expect(nextSignalsOf(type)).toEqual(["a.b", "c", "d-e"]);
  const name = "x";
  expect(nextSignalsOf(typeOf((_, task) => task.nextSignal(name, { timeoutSeconds: 1 })))).toEqual(["*"]);
  expect(toCatalog([typeOf(() => null)])[0]).not.toHaveProperty("next_signals");
});

test("two calls for a name at the same time, and a wrong name, are refused for good", async () => {
  for (const handler of [
    (_: never, task: TaskContext) => Promise.all([1, 2].map(() => task.nextSignal("message", { timeoutSeconds: 1 }))),
    (_: never, task: TaskContext) => task.nextSignal("not a name", { timeoutSeconds: 1 }),
    (_: never, task: TaskContext) => task.nextSignal("message", {} as never),
  ]) {
    const { pipeline } = pipelineOf(handler);
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "permanent", attempts: 1 });
  }
});

test("the test kit sends signals as clients do", async () => {
  const chat = defineTask({
    name: "chat",
    input: z.null(),
    handler: async (_, task) => {
      const read: unknown[] = [];
      for (let next: unknown = ""; next !== undefined; ) {
        next = await task.nextSignal("message", { timeoutSeconds: 60 });
        if (next !== undefined) read.push(next);
      }
      return read;
    },
  });
  const signals = ["a", "a", "b"].map((body, number) => ({ name: "message", body, afterSeconds: number * 10 }));
  const { result } = await testKit([chat]).run(chat, null, { signals });
  expect(result).toEqual(["a", "a", "b"]);
});
