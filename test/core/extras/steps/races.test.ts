import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { signal } from "../../../../src/core/extras/steps/signal.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { gate } from "../../../support/gate.ts";
import { memoryPipeline, type Pipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

const day = 86_400;

/** As the clock of a deployed worker: each timer is a resource of Node. */
function withRealTimers(pipeline: Pipeline): void {
  const { clock } = pipeline;
  const after = clock.after.bind(clock);
  clock.after = (delayMs, call) => {
    const timer = setTimeout(() => {}, 60_000);
    const stop = after(delayMs, () => {
      clearTimeout(timer);
      call();
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  };
}

function started(handler: (task: TaskContext, notes: string[]) => Promise<unknown>) {
  const notes: string[] = [];
  const pipeline = memoryPipeline([typeOf((_, task) => handler(task, notes), { timeoutSeconds: 60 })]);
  withRealTimers(pipeline);
  return { pipeline, notes };
}

/** Lets real work take the turns that it needs, while the clock of the pipeline moves by a look for each. */
async function until(pipeline: Pipeline, isOver: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isOver())) {
    await new Promise((resolve) => setImmediate(resolve));
    await pipeline.clock.advance(1);
  }
}

const race = (task: TaskContext) =>
  Promise.race([task.waitFor("a", { timeoutSeconds: 3 * day }), task.waitFor("b", { timeoutSeconds: 3 * day })]);

/** A task whose first signal has come, and that runs again. */
async function signalled(pipeline: Pipeline) {
  const task = await pipeline.accept();
  await pipeline.work();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", waiting_for: { signals: ["a", "b"] } });
  await signal(pipeline.ports, await pipeline.recordOf(task), "a", "yes");
  let over = false;
  const working = pipeline.work().then(() => {
    over = true;
  });
  return { task, working, isOver: () => over };
}

async function service(answer: () => Promise<void>, onCall: () => void) {
  const server = createServer((_, response) => {
    onCall();
    void answer().then(() => response.end("paid"));
  }).listen(0);
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const afterRace: Readonly<Record<string, (task: TaskContext, url: string, opened: Promise<void>) => Promise<unknown>>> =
  {
    "a request": async (_, url) => (await fetch(url)).text(),
    "two requests, one after the other": async (_, url) => [
      await (await fetch(url)).text(),
      await (await fetch(url)).text(),
    ],
    "a timer": () => new Promise((resolve) => setTimeout(resolve, 5)),
    once: (task, _, opened) => task.once("k", () => opened),
    "a step": (task, _, opened) => task.step("s", () => opened),
    "an effect behind a checkpoint": async (task, url) => {
      await task.checkpoint({ n: 1 });
      return (await fetch(url)).text();
    },
    "only computation": async () => {
      for (let turn = 0; turn < 1_000; turn++) await undefined;
    },
  };

test.each(Object.keys(afterRace))("after a race, %s runs once and is not held up by the loser", async (name) => {
  const { opened, open } = gate();
  let calls = 0;
  const url = await service(
    () => opened,
    () => {
      calls += 1;
      open();
    },
  );
  const { pipeline, notes } = started(async (task, notes) => {
    const answer = await race(task);
    notes.push(`begins with ${String(answer)}`);
    const done = afterRace[name]?.(task, url, opened);
    if (calls === 0 && !name.includes("request")) open();
    await done;
    notes.push("done");
    return "paid";
  });
  const startMs = pipeline.clock.now();
  const { task, working, isOver } = await signalled(pipeline);
  await until(pipeline, isOver);
  await working;
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1, attempts_total: 2 });
  expect(notes).toEqual(["begins with yes", "done"]);
  expect(calls).toBe(
    { "a request": 1, "two requests, one after the other": 2, "an effect behind a checkpoint": 1 }[name] ?? 0,
  );
  expect(pipeline.clock.now() - startMs).toBeLessThan(60_000);
});

test("after one of all waits has ended, the attempt is suspended at once", async () => {
  const { pipeline } = started(async (task) =>
    Promise.all(
      ["a", "b"].map(async (name) => {
        const answer = await task.waitFor(name, { timeoutSeconds: 3 * day });
        task.log.info("answered", { name });
        task.progress(50);
        return answer;
      }),
    ),
  );
  const startMs = pipeline.clock.now();
  const { task } = await signalled(pipeline);
  await pipeline.clock.advance(0);
  await pipeline.clock.advance(0);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", waiting_for: { signals: ["b"] } });
  expect(pipeline.clock.now()).toBe(startMs);
  await signal(pipeline.ports, await pipeline.recordOf(task), "b", 2);
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: ["yes", 2], attempts: 1 });
});

test("after a race, a step and a new wait, the attempt is suspended, and the loser does not wake it twice", async () => {
  const { pipeline, notes } = started(async (task, notes) => {
    await race(task);
    await task.step("pay", () => notes.push("paid"));
    await task.sleep(7 * day);
    return "reviewed";
  });
  const { task, isOver } = await signalled(pipeline);
  await until(pipeline, isOver);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", waiting_for: { signals: ["b"] } });
  await pipeline.drain();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts: 1 });
  expect(notes).toEqual(["paid"]);
});

test("what Offload does itself for a call is no work of the code that goes on beside it", async () => {
  const { pipeline } = started(async (task) =>
    Promise.all([
      race(task),
      task.waitFor("z", { timeoutSeconds: 3 * day }),
      task.waitFor("later", { timeoutSeconds: 3 * day }).then(async () => {
        await task.step("note", () => 1);
        await task.waitFor("c", { timeoutSeconds: 3 * day });
      }),
    ]),
  );
  const { steps } = pipeline.ports;
  const add = steps.add.bind(steps);
  const timers: NodeJS.Timeout[] = [];
  onTestFinished(() => timers.forEach(clearTimeout));
  steps.add = (...given) => {
    timers.push(setTimeout(() => {}, 60_000));
    return add(...given);
  };
  const task = await pipeline.accept();
  await pipeline.work();
  await signal(pipeline.ports, await pipeline.recordOf(task), "later", 1);
  const startMs = pipeline.clock.now();
  let over = false;
  void pipeline.work().then(() => {
    over = true;
  });
  await until(pipeline, () => over);
  expect(pipeline.clock.now() - startMs).toBeLessThan(10_000);
  expect(await pipeline.recordOf(task)).toMatchObject({ waiting_for: { signals: ["a", "b", "z", "c"] } });
});

test("work of one of all branches ends before the attempt is suspended", async () => {
  const { opened, open } = gate();
  let calls = 0;
  const url = await service(
    () => opened,
    () => {
      calls += 1;
    },
  );
  const { pipeline, notes } = started(async (task, notes) => {
    const told = task.waitFor("a", { timeoutSeconds: 3 * day }).then(async () => {
      await (await fetch(url)).text();
      notes.push("told");
    });
    await Promise.all([told, task.waitFor("b", { timeoutSeconds: 3 * day })]);
  });
  const { task, isOver } = await signalled(pipeline);
  await until(pipeline, () => calls === 1);
  for (let look = 0; look < 8; look++) await pipeline.clock.advance(250);
  expect(isOver()).toBe(false);
  open();
  await until(pipeline, () => notes.length === 1);
  for (let look = 0; look < 8 && !isOver(); look++) await pipeline.clock.advance(250);
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "pending", waiting_for: { signals: ["b"] } });
});

test("a sleep that ends while a step runs beside it ends in the same attempt", async () => {
  const { opened, open } = gate();
  const { pipeline } = started(async (task) =>
    Promise.race([task.step("slow", () => opened.then(() => "done")), task.sleep(5).then(() => "too late")]),
  );
  const task = await pipeline.accept();
  const working = pipeline.work();
  await pipeline.clock.advance(10);
  await pipeline.clock.advance(5_000);
  await working;
  open();
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", result: "too late", attempts_total: 1 });
});

test("a handler that has returned is not suspended while its large result is stored", async () => {
  const { opened, open } = gate();
  const { pipeline } = started(async (task) => {
    await race(task);
    return "x".repeat(1_000_000);
  });
  const { blobs } = pipeline.ports;
  const put = blobs.put.bind(blobs);
  blobs.put = async (...given) => {
    await opened;
    return put(...given);
  };
  const { task, working } = await signalled(pipeline);
  for (let look = 0; look < 8; look++) await pipeline.clock.advance(250);
  open();
  await working;
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts_total: 2 });
});

test("the first call of a handler that has returned does not suspend its attempt", async () => {
  const { opened, open } = gate();
  const { opened: stores, open: stored } = gate();
  const pipeline = memoryPipeline([
    typeOf(async (_, task) => {
      void opened.then(() => task.sleep(3600));
      return "x".repeat(1_000_000);
    }),
  ]);
  const { blobs } = pipeline.ports;
  const put = blobs.put.bind(blobs);
  blobs.put = async (...given) => {
    open();
    await stores;
    return put(...given);
  };
  const task = await pipeline.accept();
  const working = pipeline.work();
  for (let look = 0; look < 8; look++) await pipeline.clock.advance(250);
  stored();
  await working;
  expect(await pipeline.recordOf(task)).toMatchObject({ status: "completed", attempts_total: 1 });
});

test("the work of an attempt does not hold another one of the process", async () => {
  const { opened, open } = gate();
  const url = await service(
    () => opened,
    () => {},
  );
  const busy = typeOf(
    async (_, task) => {
      await race(task);
      return (await fetch(url)).text();
    },
    { name: "test.busy" },
  );
  const idle = typeOf(
    async (_, task) =>
      Promise.all([task.waitFor("a", { timeoutSeconds: day }), task.waitFor("b", { timeoutSeconds: day })]),
    { name: "test.idle" },
  );
  const pipeline = memoryPipeline([busy, idle]);
  withRealTimers(pipeline);
  const tasks = [await pipeline.accept(), await pipeline.accept({ type: "test.idle" })];
  await pipeline.work();
  for (const task of tasks) await signal(pipeline.ports, await pipeline.recordOf(task), "a", 1);
  const working = pipeline.work();
  await until(pipeline, async () => (await pipeline.recordOf(tasks[1] as never)).attempts_total === 2);
  await until(pipeline, async () => (await pipeline.recordOf(tasks[1] as never)).status === "pending");
  expect(await pipeline.recordOf(tasks[0] as never)).toMatchObject({ status: "processing" });
  open();
  let over = false;
  void working.then(() => {
    over = true;
  });
  await until(pipeline, () => over);
  expect(await pipeline.recordOf(tasks[0] as never)).toMatchObject({ status: "completed", result: "paid" });
});
