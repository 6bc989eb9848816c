import { expect, test } from "vitest";
import * as z from "zod";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

test("an attempt starts with the state of the last checkpoint, also after a failure", async () => {
  const states: unknown[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      states.push(task.state);
      if (task.attempt === 1) {
        await task.checkpoint({ cursor: 1 });
        await task.checkpoint({ cursor: 2 });
        throw new Error("again");
      }
      return task.state;
    }),
  ]);
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(states).toEqual([undefined, { cursor: 2 }]);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2, result: { cursor: 2 } });
});

test("a cursor of 40 minutes of work ends on attempts of one minute, each page once, as one attempt", async () => {
  const pages: number[] = [];
  const pipeline = memoryPipeline([
    typeOf(
      async (_, task) => {
        for (let { page } = (task.state ?? { page: 0 }) as { page: number }; page < 240; ) {
          // Ten seconds of work.
          await new Promise<void>((resolve) => pipeline.clock.after(10_000, resolve));
          pages.push(page);
          page += 1;
          await task.checkpoint({ page });
          if (task.remainingMs() < 20_000) return task.continueLater();
        }
        return { pages: pages.length, attempt: task.attempt };
      },
      { timeoutSeconds: 60 },
    ),
  ]);
  const task = await pipeline.accept();
  for (let turn = 0; turn < 10_000 && (await pipeline.recordOf(task)).status !== "completed"; turn++) {
    const working = pipeline.work();
    let ended = false;
    void working.then(() => {
      ended = true;
    });
    while (!ended) await pipeline.clock.advance(1000);
  }
  const record = await pipeline.recordOf(task);
  expect(record).toMatchObject({ status: "completed", attempts: 1, result: { pages: 240, attempt: 1 } });
  expect(record.attempts_total).toBeGreaterThan(40);
  expect(pages).toEqual(Array.from({ length: 240 }, (_, page) => page));
});

test("a state that does not fit the type's schema any more fails the task before its handler runs", async () => {
  let schema: z.ZodType = z.strictObject({ cursor: z.int() });
  let calls = 0;
  const handler = typeOf(async (_, task) => {
    calls += 1;
    await task.checkpoint({ cursor: 1 });
    throw new Error("again");
  });
  const pipeline = memoryPipeline([
    {
      ...handler,
      get state() {
        return schema;
      },
    },
  ]);
  const task = await pipeline.accept();
  await pipeline.work();
  schema = z.strictObject({ page: z.int() });
  await pipeline.drain();
  expect(calls).toBe(1);
  const record = await pipeline.recordOf(task);
  expect(record).toMatchObject({ status: "failed", error_kind: "validation" });
  expect(record.error).toMatch(/^state/);
});

test("a checkpoint that the schema refuses fails the task, and keeps the state", async () => {
  const pipeline = memoryPipeline([
    typeOf(
      async (_, task) => {
        await task.checkpoint({ cursor: 1 });
        await task.checkpoint({ cursor: "x" });
      },
      { state: z.strictObject({ cursor: z.int() }) },
    ),
  ]);
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "validation" });
});

test("an attempt that lost its lease cannot store its state, and its handler does not go on", async () => {
  const seen: unknown[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      if (task.attemptOverall === 1) {
        await pipeline.records.change(await pipeline.recordOf({ tenant_id: "acme", task_id: task.taskId }), {
          when: {},
          set: { updated_at: "2027-01-01T00:00:01.000Z" },
          add: { attempts_total: 1 },
        });
        await task.checkpoint({ n: 1 }).then(
          () => seen.push("stored"),
          (error: unknown) => seen.push(error),
        );
      }
    }),
  ]);
  const task = await pipeline.accept();
  await pipeline.work();
  expect(seen).toEqual([]);
  expect(await pipeline.steps.load(await pipeline.recordOf(task))).toEqual([]);
});

test("a handler without checkpoints reads and writes nothing more", async () => {
  const calls: string[] = [];
  const pipeline = memoryPipeline([typeOf(async () => null)]);
  const steps = new Proxy(pipeline.steps, {
    get: (store, name) => {
      calls.push(String(name));
      return Reflect.get(store, name);
    },
  });
  Object.assign(pipeline.ports, { steps });
  await pipeline.accept();
  await pipeline.drain();
  expect(calls).toEqual([]);
});

test("a late repeat of a checkpoint's request does not bring an earlier state back", async () => {
  const states: unknown[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      states.push(task.state);
      if (task.attempt > 1) return;
      await task.checkpoint({ cursor: 1 });
      await task.checkpoint({ cursor: 2 });
      await repeatFirst();
      throw new Error("again");
    }),
  ]);
  const { steps } = pipeline;
  const requests: Parameters<typeof steps.saveState>[] = [];
  const repeatFirst = async () => requests[0] && steps.saveState(...requests[0]);
  const saveState: typeof steps.saveState = (...request) => {
    requests.push(request);
    return steps.saveState(...request);
  };
  Object.assign(pipeline.ports, { steps: { load: steps.load.bind(steps), keep: steps.keep.bind(steps), saveState } });
  await pipeline.accept();
  await pipeline.drain();
  expect(states).toEqual([undefined, { cursor: 2 }]);
});

test("a handler does not start when its lease ended while its state was read", async () => {
  const attempts: number[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      attempts.push(task.attemptOverall);
      if (task.attempt > 1) return;
      await task.checkpoint({ cursor: 1 });
      throw new Error("again");
    }),
  ]);
  const { steps, clock } = pipeline;
  let reads = 0;
  const load: typeof steps.load = async (owner) => {
    reads += 1;
    // The process is frozen for longer than the lease.
    if (reads === 1) await clock.advance(60_000);
    return steps.load(owner);
  };
  const saveState = steps.saveState.bind(steps);
  Object.assign(pipeline.ports, { steps: { load, saveState, keep: steps.keep.bind(steps) } });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(attempts).toEqual([1, 3]);
  expect((await pipeline.recordOf(task)).history.map(({ outcome }) => outcome)).toEqual([
    "retried",
    "crashed",
    "completed",
  ]);
});
