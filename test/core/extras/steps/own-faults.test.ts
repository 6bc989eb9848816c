import { expect, test } from "vitest";
import { spawnChild, submitChild } from "../../../../src/core/extras/children/child.ts";
import { PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import { lateErrorLine } from "../../../../src/core/pipeline/work/late-error.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { gate } from "../../../support/gate.ts";
import { memoryPipeline, type Pipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

/** Lets a test refuse the calls of a port whose names fit. */
function shaky(pipeline: Pipeline, port: keyof Pipeline["ports"], fits = /./) {
  const healthy = pipeline.ports[port];
  let isDown = false;
  const down = new Proxy(healthy as object, {
    get: (target, name) => {
      const call: unknown = Reflect.get(target, name);
      if (typeof call !== "function") return call;
      return (...given: unknown[]) =>
        isDown && fits.test(String(name))
          ? Promise.reject(new PortUnavailable("the table"))
          : call.apply(target, given);
    },
  });
  Object.assign(pipeline.ports, { [port]: down });
  return {
    refuse: () => {
      isDown = true;
    },
    mend: () => {
      isDown = false;
    },
  };
}

interface Call {
  port: keyof Pipeline["ports"];
  fits?: RegExp;
  make(task: TaskContext): Promise<unknown>;
}

const calls: Readonly<Record<string, Call>> = {
  step: { port: "steps", make: (task) => task.step("row", () => 1) },
  once: { port: "once", make: (task) => task.once("row", () => 1) },
  "once, as it stores its outcome": { port: "once", fits: /finish/, make: (task) => task.once("row", () => 1) },
  "two steps that read their entries together": {
    port: "steps",
    make: (task) => Promise.all([task.step("row", () => 1), task.step("other", () => 1)]),
  },
  sleep: { port: "steps", make: (task) => task.sleep(0) },
  waitFor: { port: "steps", make: (task) => task.waitFor("row", { timeoutSeconds: 0 }) },
  checkpoint: { port: "steps", make: (task) => task.checkpoint({ n: 1 }) },
  submit: { port: "records", fits: /create|put/, make: (task) => task.submit({ type: "test.task", input: 1 }) },
  spawnAll: {
    port: "families",
    make: (task) => task.spawnAll(Array.from({ length: 101 }, () => ({ type: "test.task", input: 1 }))),
  },
  "a step after a spawn": {
    port: "families",
    make: async (task) => {
      await task.spawn({ type: "test.task", input: 1 });
      await task.step("row", () => 1);
    },
  },
};

test.each(Object.keys(calls))(
  "%s never rejects because the store does not answer: the attempt ends there",
  async (name) => {
    const { port, fits, make } = calls[name] as Call;
    const seen: unknown[] = [];
    const { opened, open } = gate<AbortSignal>();
    let table = { refuse: () => {}, mend: () => {} };
    const pipeline = memoryPipeline([
      typeOf(
        async (input, task) => {
          if (input === 1) return null;
          if (task.attempt > 1) return make(task).then(() => "made");
          open(task.signal);
          table.refuse();
          try {
            await make(task);
            seen.push("returned");
          } catch (error) {
            seen.push(error);
          } finally {
            seen.push("finally");
          }
          return "went on";
        },
        // The author's rules are about the author's errors.
        { children: {}, classify: [() => "permanent"] },
      ),
    ]);
    table = shaky(pipeline, port, fits);
    Object.assign(pipeline.ports, {
      submitChild: submitChild(pipeline.ports),
      createChild: spawnChild(pipeline.ports),
    });
    const task = await pipeline.accept();
    const working = pipeline.work();
    const signal = await opened;
    for (let turn = 0; turn < 10; turn++) await pipeline.clock.advance(1_000);
    await working;
    expect(seen).toEqual([]);
    expect(signal.aborted).toBe(true);
    const [attempt] = (await pipeline.recordOf(task)).history;
    expect(attempt).toMatchObject({ outcome: "retried" });
    expect(attempt?.error_kind).toBe(name === "submit" ? "rate_limited" : "unavailable");
    table.mend();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2 });
    expect(pipeline.log.lines.filter(({ message }) => message === lateErrorLine)).toEqual([]);
  },
);

test("a loop that catches everything counts no row as failed while the table does not answer once", async () => {
  const sent: number[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      let failed = 0;
      for (const row of [1, 2, 3]) {
        try {
          await task.step(`row ${row}`, () => sent.push(row));
        } catch {
          failed += 1;
        }
      }
      return { failed };
    }),
  ]);
  let adds = 0;
  const { steps } = pipeline.ports;
  const add = steps.add.bind(steps);
  steps.add = (...given) => {
    adds += 1;
    return adds === 2 ? Promise.reject(new PortUnavailable("the table")) : add(...given);
  };
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2, result: { failed: 0 } });
  expect(sent).toEqual([1, 2, 2, 3]);
});

test("what begins at the end of the signal has no effect: the context is closed before", async () => {
  const begun: string[] = [];
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      if (task.attempt > 1) return null;
      task.signal.addEventListener("abort", () => {
        begun.push("told");
        void task.step("late", () => begun.push("late"));
      });
      await task.step("row", () => 1);
      return null;
    }),
  ]);
  shaky(pipeline, "steps", /add/).refuse();
  await pipeline.accept();
  await pipeline.work();
  expect(begun).toEqual(["told"]);
});

test("the errors of the author's functions reach the handler, also those that look like ours", async () => {
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      const own = () => Promise.reject(new PortUnavailable("the author's own table"));
      const caught = (error: unknown) => String(error);
      return [await task.step("a", own).catch(caught), await task.once("b", own).catch(caught)];
    }),
  ]);
  const task = await pipeline.accept();
  await pipeline.drain();
  const text = "PortUnavailable: the author's own table is unavailable";
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: [text, text] });
});

test("misuse, values that are too large, and refused submits still reject", async () => {
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      const errors = [
        task.step("", () => 1),
        task.step("big", () => "x".repeat(300_000)),
        task.once("", () => 1),
        task.sleep(-1),
        task.waitFor("?", { timeoutSeconds: 1 }),
        task.checkpoint(5n),
        task.submit({ type: "unknown.type" }),
        task.spawn({ type: "test.task" }),
      ].map((call) => call.then(String, (error: unknown) => error instanceof PermanentError));
      return Promise.all(errors);
    }),
  ]);
  Object.assign(pipeline.ports, { submitChild: submitChild(pipeline.ports) });
  const task = await pipeline.accept();
  await pipeline.work();
  expect((await pipeline.recordOf(task)).result).toEqual(Array.from({ length: 8 }, () => true));
});
