import { expect, test } from "vitest";
import { retry } from "../../../../src/core/control/control.ts";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import { viewOf } from "../../../../src/core/pipeline/end/view.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { gate } from "../../../support/gate.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, operations);

const minuteMs = 60_000;

/** A pipeline with one type, and what its handler noted. */
function started(handler: (notes: string[], task: Parameters<TaskType["handler"]>[1]) => Promise<unknown>) {
  const notes: string[] = [];
  const pipeline = memoryPipeline([typeOf((_, task) => handler(notes, task))]);
  return { notes, pipeline };
}

const view = async (pipeline: Pipeline, key: Parameters<Pipeline["recordOf"]>[0]) =>
  viewOf(await pipeline.recordOf(key), new Date(pipeline.clock.now()).toISOString());

test("a step that returned runs once, and a later attempt gets its result", async () => {
  const { notes, pipeline } = started(async (notes, task) => {
    const first = await task.step("first", () => {
      notes.push("first");
      return { n: 1 };
    });
    const second = await task.step("second", async () => {
      notes.push("second");
      return undefined;
    });
    if (task.attempt < 3) throw new Error("again");
    return { first, second: second ?? null };
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(notes).toEqual(["first", "second"]);
  const record = await pipeline.recordOf(task);
  expect(record).toMatchObject({ status: "completed", attempts: 3 });
  expect(record.history.map(({ outcome }) => outcome)).toEqual(["retried", "retried", "completed"]);
});

test("a step that throws fails the attempt, and runs again in the next one", async () => {
  const { notes, pipeline } = started(async (notes, task) => {
    await task.step("unsure", (key) => {
      notes.push(key);
      if (task.attempt === 1) throw new Error("not yet");
    });
    return null;
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(notes).toHaveLength(2);
  expect(notes[0]).toBe(notes[1]);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2 });
});

test("a handler may catch the error of a step, and go on", async () => {
  const { pipeline } = started(async (_, task) => {
    const failed = await task
      .step("tried", () => {
        throw new Error("no");
      })
      .catch(() => "caught");
    return task.step("then", () => failed);
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1 });
});

for (const seconds of [20 * 60, 40 * 86_400]) {
  test(`a sleep of ${seconds} s ends the attempt, costs none, and the task goes on after it`, async () => {
    const { notes, pipeline } = started(async (notes, task) => {
      await task.step("before", () => notes.push("before"));
      await task.sleep(seconds);
      await task.step("after", () => notes.push("after"));
      return { attempt: task.attempt, attemptOverall: task.attemptOverall };
    });
    const task = await pipeline.accept();
    const startMs = pipeline.clock.now();
    await pipeline.work();
    const until = new Date(startMs + seconds * 1000).toISOString();
    expect(await view(pipeline, task)).toMatchObject({
      status: "pending",
      attempts: 1,
      waiting_for: { kind: "sleep", until },
    });
    expect(pipeline.queues.waiting("normal")).toEqual([]);
    // A minute early: EventBridge Scheduler has a precision of a minute, and SQS delays the rest.
    const fires = [...pipeline.oneOffs.all().values()].map(({ at }) => Date.parse(until) - Date.parse(at));
    expect(fires).toEqual([minuteMs]);
    await pipeline.drain();
    expect(pipeline.clock.now() - startMs).toBeGreaterThanOrEqual(seconds * 1000);
    expect(notes).toEqual(["before", "after"]);
    const record = await pipeline.recordOf(task);
    expect(record).toMatchObject({ status: "completed", attempts: 1, attempts_total: 2 });
    expect(record.waiting_for).toBeUndefined();
    expect(record.history.map(({ outcome }) => outcome)).toEqual(["completed"]);
  });
}

test("a step beside a sleep ends before the attempt does", async () => {
  const { opened, open } = gate();
  const { notes, pipeline } = started(async (notes, task) => {
    await Promise.all([
      task.sleep(3600),
      task.step("beside", async () => {
        await opened;
        notes.push("beside");
      }),
    ]);
    return null;
  });
  const task = await pipeline.accept();
  const working = pipeline.work();
  await pipeline.clock.advance(1000);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "processing" });
  open();
  for (let turn = 0; turn < 5; turn++) await pipeline.clock.advance(1);
  await working;
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", attempts: 0 });
  await pipeline.drain();
  expect(notes).toEqual(["beside"]);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed" });
});

test("a sleep of a failed attempt does not begin anew", async () => {
  const { pipeline } = started(async (_, task) => {
    await task.sleep(10 * 60);
    if (task.attempt === 1) throw new Error("again");
    await task.sleep(20 * 60);
    return task.attempt;
  });
  const task = await pipeline.accept();
  const startMs = pipeline.clock.now();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2 });
  const tookMs = pipeline.clock.now() - startMs;
  expect(tookMs).toBeGreaterThanOrEqual(30 * minuteMs);
  expect(tookMs).toBeLessThan(32 * minuteMs);
});

test("a step under another name than in an earlier attempt fails the task with a message that says what changed", async () => {
  const { pipeline } = started(async (_, task) => {
    await task.step("prepare", () => 1);
    await task.step(task.attempt === 1 ? "charge" : "pay", () => 2);
    throw new Error("again");
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  const { error } = await pipeline.recordOf(task);
  expect(error).toMatch(
    /^call 2 of the handler is step "pay" now, and was step "charge" in an earlier attempt\. The calls of a task/,
  );
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "unavailable" });
});

test("a task that workers of another release take in between goes on when one of its own release has it", async () => {
  const { pipeline } = started(async (_, task) => {
    await task.step("prepare", () => 1);
    // The second and third attempt are those of the other release.
    await task.step(task.attempt === 2 || task.attempt === 3 ? "pay" : "charge", () => 2);
    if (task.attempt === 1) throw new Error("again");
    return "done";
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({
    status: "completed",
    history: [{}, { error_kind: "unavailable" }, { error_kind: "unavailable" }, { outcome: "completed" }],
  });
});

test("two steps in the other order than in an earlier attempt fail the task", async () => {
  const { pipeline } = started(async (_, task) => {
    const names = task.attempt === 1 ? ["one", "two"] : ["two", "one"];
    for (const name of names) await task.step(name, () => name);
    throw new Error("again");
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect((await pipeline.recordOf(task)).error).toContain(
    'call 1 of the handler is step "two" now, and was step "one"',
  );
});

test("steps that run at the same time may end in any order, and what follows may differ by it", async () => {
  const { notes, pipeline } = started(async (notes, task) => {
    const branch = async (name: string, turns: number) => {
      await task.step(name, async () => {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        notes.push(name);
      });
      await task.step(`${name}, then`, () => notes.push(`${name}, then`));
    };
    await Promise.all([branch("a", 30), branch("b", 20), branch("c", 10)]);
    if (task.attempt === 1) throw new Error("again");
    return null;
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(notes.toSorted()).toEqual(["a", "a, then", "b", "b, then", "c", "c, then"]);
  expect(notes[0]).toBe("c");
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 2 });
});

test.each<[string, (task: Parameters<TaskType["handler"]>[1]) => Promise<unknown>, string]>([
  ["a name twice", async (task) => [await task.step("a", () => 1), await task.step("a", () => 2)], "called twice"],
  ["an empty name", (task) => task.step("", () => 1), "1 to 100 characters"],
  ["a large result", (task) => task.step("a", () => "x".repeat(300_000)), "of at most 262144"],
  ["a result that is not JSON", (task) => task.step("a", () => 1n), "cannot be serialised as JSON"],
  ["a sleep of two years", (task) => task.sleep(2 * 31_536_000), "from 0 to 31536000"],
  ["a sleep of NaN", (task) => task.sleep(Number.NaN), "from 0 to 31536000"],
  ["a signal's name with a slash", (task) => task.waitFor("a/b", { timeoutSeconds: 1 }), "letters, digits"],
])("%s fails the task", async (_, call, message) => {
  const { pipeline } = started((_, task) => call(task));
  const task = await pipeline.accept();
  await pipeline.drain();
  const record = await pipeline.recordOf(task);
  expect(record).toMatchObject({ status: "failed", error_kind: "permanent" });
  expect(record.error).toContain(message);
});

test("a task has at most 1,000 steps", async () => {
  const { notes, pipeline } = started(async (notes, task) => {
    for (let number = 1; number <= 1001; number++) {
      await task.step(`step ${number}`, () => 0);
      notes.push("");
    }
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(notes).toHaveLength(1000);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error_kind: "permanent" });
});

test("a handler may catch the error of a wrong call, which has no effect", async () => {
  const { pipeline } = started(async (_, task) => {
    await task.step("a", () => 1);
    await task.step("a", () => 2).catch((error: unknown) => expect(error).toBeInstanceOf(PermanentError));
    return "ended";
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed" });
});

test("a replayed task goes on behind the steps of its earlier round", async () => {
  const { notes, pipeline } = started(async (notes, task) => {
    await task.step("charge", () => notes.push("charge"));
    if (task.attemptOverall === 1) throw new PermanentError("no");
    return null;
  });
  const task = await pipeline.accept();
  await pipeline.drain();
  await retry(pipeline.ports, await pipeline.recordOf(task));
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", round: 2 });
  expect(notes).toEqual(["charge"]);
});

test("the attempt that aggregates has steps of its own, and new ones in each round", async () => {
  const notes: string[] = [];
  let childFails = true;
  const child = typeOf(
    async () => {
      if (childFails) throw new PermanentError("the child fails");
    },
    { name: "test.child" },
  );
  const parent = typeOf(
    async (_, task) => {
      await task.step("same", () => notes.push("handler"));
      await task.sleep(60);
      await task.spawn({ type: "test.child", input: null });
    },
    {
      children: { threshold: 0 },
      aggregate: async (children, task) => {
        await task.sleep(60);
        const counts = await task.step("same", (key) => {
          notes.push(`aggregate ${key.slice(0, 8)}`);
          return children.completed;
        });
        if (counts === 0) throw new PermanentError("no child completed");
        return counts;
      },
    },
  );
  const pipeline = memoryPipeline([parent, child]);
  const task = await pipeline.accept();
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "failed", error: "no child completed" });
  childFails = false;
  await retry(pipeline.ports, await pipeline.recordOf(task));
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: 1 });
  expect(notes.map((note) => note.split(" ")[0])).toEqual(["handler", "aggregate", "aggregate"]);
  expect(notes[1]).not.toBe(notes[2]);
});

test.each([
  ["in one attempt", false],
  ["over sleeps", true],
])(
  "results of more than 16 MiB fail the task with the limit's name, and each effect is done once: %s",
  async (_, sleeps) => {
    const effects: number[] = [];
    const { pipeline } = started(async (_input, task) => {
      for (let n = 0; n < 80; n++) {
        await task.step(`part ${n}`, () => {
          effects.push(n);
          return "x".repeat(250_000);
        });
        if (sleeps && n % 40 === 39) await task.sleep(60);
      }
    });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(task)).toMatchObject({
      status: "failed",
      error_kind: "permanent",
      error: expect.stringContaining("16 MiB"),
    });
    expect(effects).toEqual(Array.from({ length: 68 }, (_unused, n) => n));
  },
);
