import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { cancelChildren } from "../../../../src/core/control/cancel-others.ts";
import { cancel, retry } from "../../../../src/core/control/control.ts";
import { listChildren } from "../../../../src/core/control/list.ts";
import { runNow } from "../../../../src/core/control/run-now.ts";
import { ChildFailed } from "../../../../src/core/extras/steps/step-tools.ts";
import { AttemptCrashed, PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import type { TaskKey, TaskRecord } from "../../../../src/core/model/record.ts";
import { wakeParent } from "../../../../src/core/pipeline/end/close-family.ts";
import { viewTask } from "../../../../src/core/pipeline/end/view.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { file } from "../../../../src/core/task/result.ts";
import { defineTask, type TaskType } from "../../../../src/core/task/task.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations);

/** Children that double their number, and the numbers that ran. */
function double(fails: ReadonlySet<number> = new Set(), more: Partial<TaskType> = {}) {
  const ran: number[] = [];
  const type = defineTask({
    name: "double",
    input: z.object({ n: z.int() }),
    handler: ({ n }) => {
      ran.push(n);
      if (fails.has(n)) throw new PermanentError(`no ${n}`);
      return { twice: 2 * n };
    },
  });
  return { type: { ...type, ...more } as typeof type, ran };
}

/** A pipeline whose first type has the handler. */
function running(
  handler: (task: TaskContext, type: ReturnType<typeof double>["type"]) => unknown,
  { fails, child, parent }: { fails?: Set<number>; child?: Partial<TaskType>; parent?: Partial<TaskType> } = {},
) {
  const { type, ran } = double(fails, child);
  const pipeline: Pipeline = memoryPipeline([typeOf((_, task) => handler(task, type), parent), type]);
  return { pipeline, ran };
}

const shown = async (pipeline: Pipeline, key: TaskKey) => viewTask(pipeline.ports, await pipeline.recordOf(key));

const childrenOf = async (pipeline: Pipeline, key: TaskRecord) =>
  (await listChildren(pipeline.ports, await pipeline.recordOf(key), undefined, { limit: 100, from: undefined })).items;

describe("a child that the handler awaits", () => {
  test("gives its result, while the task waits without a worker and without an attempt", async () => {
    const { pipeline, ran } = running(async (task, type) => {
      const { twice } = await task.run(type, { n: 4 });
      return { twice };
    });
    const task = await pipeline.accept();
    await pipeline.work();
    const waiting = await shown(pipeline, task);
    const [child] = await childrenOf(pipeline, task);
    expect(waiting).toMatchObject({
      status: "pending",
      attempts: 1,
      waiting_for: { kind: "child", children: [child?.task_id] },
      children: { total: 1, open: 1, sealed: false },
    });
    expect(child).toMatchObject({ type: "double", parent_id: task.task_id, status: "pending" });
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      ...{ status: "completed", attempts: 1, result: { twice: 8 }, waiting_for: null },
      children: { total: 1, open: 0, completed: 1, sealed: true },
    });
    expect(ran).toEqual([4]);
  });

  test("and other calls take a type by its name, with the input and the options apart", async () => {
    const { pipeline, ran } = running(
      async (task) => {
        await task.submit("double", { n: 1 }, { key: "a" });
        await task.spawn("double", { n: 2 }, { key: "b", tags: { of: "two" } });
        await task.spawnAll("double", [{ n: 3 }, { n: 4 }], { key: ({ n }) => `n${n}` });
        const { twice } = await task.run<{ twice: number }>("double", { n: 5 }, { key: "c" });
        await task.run("double", { n: twice });
      },
      { parent: { children: {} } },
    );
    const submit = vi.spyOn(pipeline.ports, "submitChild");
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", children: { total: 5, completed: 5 } });
    expect(submit.mock.calls[0]?.[1]).toEqual({ type: "double", input: { n: 1 }, key: "a" });
    expect(ran.toSorted((a, b) => a - b)).toEqual([2, 3, 4, 5, 10]);
    expect((await childrenOf(pipeline, task)).filter(({ tags }) => tags?.of === "two")).toHaveLength(1);
  });

  test("runs once, also where the task fails behind it, or is cut off, and its result stays", async () => {
    let tries = 0;
    const { pipeline, ran } = running(async (task, type) => {
      const first = await task.run(type, { n: 1 }, { key: "first" });
      tries += 1;
      if (tries === 1) throw new Error("behind it");
      if (tries === 2) throw new AttemptCrashed("its worker died");
      const second = await task.run(type, { n: first.twice }, { key: "second" });
      return [first, second];
    });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: [{ twice: 2 }, { twice: 4 }] });
    expect(ran).toEqual([1, 2]);
    expect((await shown(pipeline, task)).children).toMatchObject({ total: 2, completed: 2 });
  });

  test("is awaited beside others, beside steps, sleeps and signals", async () => {
    const steps: string[] = [];
    const { pipeline, ran } = running(async (task, type) => {
      const [runs] = await Promise.all([
        Promise.all([1, 2, 3].map((n) => task.run(type, { n }, { key: `n${n}` }))),
        task.step("beside", () => steps.push("beside")),
        task.sleep(3600).then(() => task.step("behind", () => steps.push("behind"))),
        task.waitFor("go", { timeoutSeconds: 7200 }),
      ]);
      return runs.map(({ twice }) => twice);
    });
    const task = await pipeline.accept();
    await pipeline.work();
    expect((await shown(pipeline, task)).waiting_for).toMatchObject({
      ...{ kind: "signal", signals: ["go"] },
      children: expect.objectContaining({ length: 3 }),
    });
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: [2, 4, 6], attempts: 1 });
    expect(ran.toSorted()).toEqual([1, 2, 3]);
    expect(steps).toEqual(["beside", "behind"]);
  });

  test("lets the task go on before a longer sleep beside it ends", async () => {
    const at: number[] = [];
    const { pipeline } = running(async (task, type) => {
      await Promise.all([
        task.run(type, { n: 1 }).then(() => task.step("behind", () => at.push(pipeline.clock.now()))),
        task.sleep(86_400 * 30),
      ]);
    });
    const startMs = pipeline.clock.now();
    const task = await pipeline.accept();
    await pipeline.work();
    expect((await shown(pipeline, task)).waiting_for).toMatchObject({ kind: "child", until: expect.any(String) });
    await pipeline.drain();
    expect(at).toHaveLength(1);
    expect((at[0] ?? 0) - startMs).toBeLessThan(60_000);
  });

  test("a thousand beside each other run once each, and most of their ends share an attempt of the task", async () => {
    const { pipeline, ran } = running(async (task, type) => {
      const all = await Promise.all(Array.from({ length: 1_000 }, (_, n) => task.run(type, { n }, { key: String(n) })));
      return all.reduce((sum, { twice }) => sum + twice, 0);
    });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: 999_000, attempts: 1 });
    expect(new Set(ran).size).toBe(1_000);
    expect(ran).toHaveLength(1_000);
    expect((await pipeline.recordOf(task)).attempts_total).toBeLessThan(200);
  });

  test("one call more than a thousand fails the task for good", async () => {
    const { pipeline, ran } = running(async (task, type) => {
      for (let n = 0; n < 1_000; n++) await task.step(`step ${n}`, () => n);
      await task.run(type, { n: 1 });
    });
    const task = await pipeline.accept();
    await pipeline.work();
    expect(await shown(pipeline, task)).toMatchObject({ status: "failed", error_kind: "permanent" });
    expect(ran).toEqual([]);
  });
});

describe("a child that ends without success", () => {
  test("throws ChildFailed: not caught, the task fails for good, after one attempt", async () => {
    const { pipeline } = running((task, type) => task.run(type, { n: 1 }), { fails: new Set([1]) });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      ...{ status: "failed", attempts: 1, error_kind: "children_failed", error_type: "ChildFailed" },
      error: 'the child of run "1" is failed: no 1',
    });
  });

  test("can be caught, with its id, status and kind, and stays as it was when it is replayed", async () => {
    const fails = new Set([1]);
    const { pipeline } = running(
      async (task, type) => {
        const caught = await task.run(type, { n: 1 }).catch((error: unknown) => error);
        if (!(caught instanceof ChildFailed)) return "not caught";
        await task.sleep(60);
        const { taskId, status, errorKind, message } = caught;
        return { taskId, status, errorKind, message };
      },
      { fails },
    );
    const task = await pipeline.accept();
    await pipeline.work();
    const [child] = await childrenOf(pipeline, task);
    for (let turn = 0; turn < 3; turn++) await pipeline.work();
    fails.clear();
    await retry(pipeline.ports, await pipeline.recordOf(child as TaskKey));
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      status: "completed",
      result: {
        taskId: child?.task_id,
        status: "failed",
        errorKind: "permanent",
        message: expect.stringMatching("no 1"),
      },
    });
    expect((await pipeline.recordOf(child as TaskKey)).status).toBe("completed");
  });

  test("is replayed by itself before the task looks, and the task waits for its new end", async () => {
    const fails = new Set([1]);
    const { pipeline } = running((task, type) => task.run(type, { n: 1 }), { fails, child: { priority: "low" } });
    const task = await pipeline.accept();
    await pipeline.work();
    const [child] = await childrenOf(pipeline, task);
    await pipeline.work("low");
    expect((await pipeline.recordOf(child as TaskKey)).status).toBe("failed");
    fails.clear();
    await retry(pipeline.ports, await pipeline.recordOf(child as TaskKey));
    await pipeline.work();
    expect(await shown(pipeline, task)).toMatchObject({ status: "pending", waiting_for: { kind: "child" } });
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: { twice: 2 } });
  });

  test("starts again with the next round of its task, and a child that completed does not", async () => {
    const fails = new Set([2]);
    const { pipeline, ran } = running(
      async (task, type) => {
        const one = await task.run(type, { n: 1 });
        const two = await task.run(type, { n: 2 });
        return [one, two];
      },
      { fails },
    );
    const task = await pipeline.accept();
    await pipeline.drain();
    expect((await shown(pipeline, task)).status).toBe("failed");
    fails.clear();
    await retry(pipeline.ports, await pipeline.recordOf(task));
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: [{ twice: 2 }, { twice: 4 }] });
    expect(ran).toEqual([1, 2, 2]);
  });

  test.each([
    ["cancelled", {}],
    ["expired", { expiresInSeconds: 1 }],
  ] as const)("is %s", async (status, options) => {
    const { pipeline } = running(async (task, type) => {
      const caught = (await task.run(type, { n: 1 }, options).catch((error: unknown) => error)) as ChildFailed;
      return { status: caught.status, kind: caught.errorKind ?? null };
    });
    const task = await pipeline.accept();
    await pipeline.work();
    const [child] = await childrenOf(pipeline, task);
    if (status === "cancelled") await cancel(pipeline.ports, await pipeline.recordOf(child as TaskKey));
    else await pipeline.clock.advance(2_000);
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: { status, kind: null } });
  });
});

describe("a task that awaits children", () => {
  test("is cancelled with them", async () => {
    const { pipeline, ran } = running((task, type) => task.run(type, { n: 1 }, { delaySeconds: 3600 }));
    const task = await pipeline.accept();
    await pipeline.work();
    const [child] = await childrenOf(pipeline, task);
    await cancel(pipeline.ports, await pipeline.recordOf(task));
    await cancelChildren(pipeline.ports, task);
    expect((await pipeline.recordOf(child as TaskKey)).status).toBe("cancelled");
    await pipeline.drain();
    expect((await pipeline.recordOf(task)).status).toBe("cancelled");
    expect(ran).toEqual([]);
  });

  test("goes on when its message is lost between the change and the send: the child's end is repeated", async () => {
    const { pipeline } = running((task, type) => task.run(type, { n: 1 }));
    const task = await pipeline.accept();
    await pipeline.work();
    const { send } = pipeline.ports.queues;
    const [child] = await childrenOf(pipeline, task);
    let refused = 0;
    pipeline.ports.queues.send = async (message) => {
      if (message.envelope.task_id === task.task_id && refused === 0) {
        refused += 1;
        throw new PortUnavailable("the queue");
      }
      return send.call(pipeline.ports.queues, message);
    };
    await pipeline.work();
    expect(refused).toBe(1);
    expect(await pipeline.recordOf(child as TaskKey)).toMatchObject({ status: "completed" });
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed" });
  });

  test("is told while its attempt runs, and looks again before it waits", async () => {
    let inAttempt: (() => Promise<void>) | undefined;
    const { pipeline } = running(async (task, type) => {
      const run = task.run(type, { n: 1 });
      await task.step("long", async () => inAttempt?.());
      return run;
    });
    const task = await pipeline.accept();
    inAttempt = async () => {
      while ((await childrenOf(pipeline, task)).length === 0) await pipeline.clock.advance(0);
      await pipeline.work();
    };
    await pipeline.work();
    const record = await pipeline.recordOf(task);
    expect(record.waiting_for).toBeUndefined();
    expect(record.woken_by).toMatch(/^1 /);
    await pipeline.work();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: { twice: 2 } });
  });

  test("of many ends at once one changes the record, and its repeat sends the message again", async () => {
    const { pipeline } = running((task, type) =>
      Promise.all([1, 2].map((n) => task.run(type, { n }, { key: `n${n}` }))),
    );
    const task = await pipeline.accept();
    await pipeline.work();
    await pipeline.work();
    const [one, two] = await Promise.all((await childrenOf(pipeline, task)).map(pipeline.recordOf));
    const record = await pipeline.recordOf(task);
    const [by, other] = record.woken_by === `1 ${one?.task_id}` ? [one, two] : [two, one];
    const send = vi.spyOn(pipeline.ports.queues, "send");
    await wakeParent(pipeline.ports, other as TaskRecord);
    expect(send).not.toHaveBeenCalled();
    await wakeParent(pipeline.ports, by as TaskRecord);
    expect(send).toHaveBeenCalledOnce();
    expect(await pipeline.recordOf(task)).toEqual(record);
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed" });
  });

  test("cannot be made to go on before a child has ended", async () => {
    const { pipeline } = running((task, type) => task.run(type, { n: 1 }));
    const task = await pipeline.accept();
    await pipeline.work();
    await expect(runNow(pipeline.ports, await pipeline.recordOf(task))).rejects.toThrow("waits for its child");
  });

  test("whose handler no longer awaits one ends without it", async () => {
    const { pipeline, ran } = running(async (task, type) => {
      const run = task.run(type, { n: 1 }, { delaySeconds: 86_400 });
      const first = await Promise.race([run.then(() => "child"), task.sleep(60).then(() => "sleep")]);
      return first;
    });
    const task = await pipeline.accept();
    await pipeline.work();
    for (let turn = 0; turn < 3; turn++) {
      await pipeline.clock.advance(60_000);
      await pipeline.work();
    }
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: "sleep" });
    await pipeline.drain();
    expect(ran).toEqual([1]);
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", children: { total: 1, completed: 1 } });
  });
});

describe("runs and spawns of one task", () => {
  const family = (fails: Set<number>, aggregate?: TaskType["aggregate"]) =>
    running(
      async (task, type) => {
        const run = await task.run(type, { n: 1 }).catch(() => ({ twice: 0 }));
        await task.spawn(type, { n: 2 }, { key: "spawned" });
        await task.spawn(type, { n: 3 });
        return run;
      },
      { fails, parent: { children: {}, ...(aggregate && { aggregate }) } },
    );

  test("are one family, and the task ends with it", async () => {
    const { pipeline, ran } = family(new Set(), async ({ total, completed, results }) => {
      const keys: string[] = [];
      for await (const { key } of results()) keys.push(key);
      return { total, completed, keys };
    });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      ...{ status: "completed", children: { total: 3, completed: 3 } },
      result: { total: 3, completed: 3, keys: ["1", "spawned", "0"] },
    });
    expect(ran.toSorted()).toEqual([1, 2, 3]);
  });

  test("a failure that the handler has caught does not count for the threshold", async () => {
    const { pipeline } = family(new Set([1]));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      ...{ status: "completed", result: { total: 3, completed: 2, failed: 1 } },
    });
  });

  test("a failure of a spawned child does", async () => {
    const { pipeline } = family(new Set([1, 2]));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "failed", error_kind: "children_failed" });
  });

  test("aggregate may run children, too", async () => {
    const { type, ran } = double();
    const parent = typeOf(async (_, task) => void (await task.spawn(type, { n: 1 })), {
      children: {},
      aggregate: async (_, task) => task.run(type, { n: 5 }),
    });
    const pipeline = memoryPipeline([parent, type]);
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({ status: "completed", result: { twice: 10 } });
    expect(ran).toEqual([1, 5]);
  });
});

describe("what task.run refuses fails the task for good", () => {
  test.each<[string, (task: TaskContext, type: ReturnType<typeof double>["type"]) => unknown, string]>([
    ["no type", (task) => task.run({} as never, {}), "expected a task type"],
    ["an option that does not exist", (task, type) => task.run(type, { n: 1 }, { unique: {} } as never), "unique"],
    ["an input that does not fit", (task) => task.run({ type: "double", input: { n: "x" } }), "invalid_input"],
    ["an empty key", (task, type) => task.run(type, { n: 1 }, { key: "" }), "1 to 100 characters"],
    [
      "a key twice",
      (task, type) => Promise.all([1, 2].map((n) => task.run(type, { n }, { key: "same" }))),
      "was called twice",
    ],
    ["a call within a step", (task, type) => task.step("s", () => task.run(type, { n: 1 })), "half done"],
  ])("%s", async (_, handler, error) => {
    const { pipeline } = running(handler);
    const task = await pipeline.accept();
    await pipeline.drain();
    const { status, error: why } = await shown(pipeline, task);
    expect([status, why]).toEqual(["failed", expect.stringContaining(error)]);
  });

  test("no key of its own behind a checkpoint", async () => {
    const { pipeline, ran } = running(
      async (task, type) => {
        if (task.state === undefined) await task.checkpoint({ cursor: 1 });
        await task.sleep(1);
        await task.run(type, { n: 1 });
      },
      { parent: { state: z.object({ cursor: z.int() }) } },
    );
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      ...{ status: "failed", error: expect.stringContaining("gives each run a key") },
    });
    expect(ran).toEqual([]);
  });

  test.each<[string, TaskType["handler"], string]>([
    ["a file", async () => file("/etc/hostname", { contentType: "text/plain", fileName: "a.txt" }), "a file"],
    ["more than 256 KiB", async () => "x".repeat(300_000), "bytes"],
  ])("a result that is %s", async (_, handler, error) => {
    const { pipeline } = running((task, type) => task.run(type, { n: 1 }), { child: { handler } });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await shown(pipeline, task)).toMatchObject({
      ...{ status: "failed", error_kind: "permanent", error: expect.stringContaining(error) },
    });
  });

  test("another order of the calls waits for the release that knows it", async () => {
    let swapped = false;
    const { pipeline } = running(async (task, type) => {
      const keys = swapped ? ["b", "a"] : ["a", "b"];
      for (const key of keys) await task.run(type, { n: 1 }, { key });
      await task.sleep(600);
    });
    const task = await pipeline.accept();
    for (let turn = 0; turn < 6; turn++) await pipeline.work();
    swapped = true;
    await pipeline.clock.advance(600_000);
    await pipeline.work();
    expect(await pipeline.recordOf(task)).toMatchObject({ error_type: "StepsChanged", error_kind: "unavailable" });
  });
});
