import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { PermanentError } from "../../src/core/model/errors.ts";
import { defineTask } from "../../src/core/task/task.ts";
import { type Cost, costOf, countedDeployment, minus, priceOf, rowsOf, share } from "../support/counted-deployment.ts";
import { clock } from "../support/shifted-clock.ts";

vi.mock(import("../../src/aws/clients.ts"), async (importOriginal) => {
  const { countedClients } = await import("../support/counted-clients.ts");
  return countedClients(await importOriginal());
});

vi.mock(import("../../src/aws/process.ts"), async (importOriginal) => {
  const { clock } = await import("../support/shifted-clock.ts");
  return { ...(await importOriginal()), systemClock: clock };
});

vi.mock(import("../../src/aws/watchdog.ts"), () => ({ threadWatchdog: () => ({ guard: () => () => {} }) }));

/** The time until which a handler sleeps. */
let wakeAt = new Date(0);

const input = z.strictObject({ count: z.int().default(1) });
const failed = () => Promise.reject(new Error("down"));
const gone = () => Promise.reject(new PermanentError("gone"));
const tries = { maxAttempts: 2, retry: { baseSeconds: 10 } };
const day = { timeoutSeconds: 86_400 };
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

const plain = defineTask({ name: "plain", input, handler: () => "done" });
const child = defineTask({ name: "child", input, handler: ({ count }) => (count < 0 ? gone() : count) });

/** Children that fail at once, and others that run ten minutes later. */
const family = (name: string, stopOnFailure: boolean) =>
  defineTask({
    name,
    input: z.strictObject({ failing: z.int(), later: z.int(), threshold: z.number().default(1) }),
    children: { threshold: ({ threshold }) => threshold, stopOnFailure },
    handler: async ({ failing, later }, task) => {
      for (const n of upTo(failing)) await task.spawn(child, { count: -n }, { key: `failing ${n}` });
      for (const n of upTo(later)) await task.spawn(child, {}, { key: `later ${n}`, delaySeconds: 600 });
    },
  });

const aggregating = (name: string, resultOf: (children: { input: { count: number }; total: number }) => number) =>
  defineTask({
    ...{ name, input, children: {}, aggregate: resultOf },
    handler: async (_, task) => {
      await task.spawn(child, {}, { key: "one" });
    },
  });

const types = [
  plain,
  child,
  defineTask({ name: "step", input, handler: (_, task) => task.step("a", () => 1) }),
  defineTask({ name: "tries", input, handler: (_, task) => task.step("a", tries, () => 1) }),
  defineTask({
    name: "tries-twice",
    input,
    handler: (_, task) => task.step("a", tries, (_key, { attempt }) => (attempt === 1 ? failed() : 1)),
  }),
  defineTask({ name: "tries-all", input, handler: (_, task) => task.step("a", tries, failed).catch(nameOf) }),
  defineTask({ name: "tries-none", input, handler: (_, task) => task.step("a", tries, gone).catch(nameOf) }),
  defineTask({ name: "dead", input, handler: gone }),
  defineTask({ name: "dead-with-code", input, handler: gone, onFailed: () => {} }),
  defineTask({
    name: "runs",
    input,
    handler: ({ count }, task) => Promise.all(upTo(count).map((n) => task.run(child, {}, { key: `${n}` }))),
  }),
  defineTask({
    name: "next",
    input,
    handler: async ({ count }, task) => {
      for (const _ of upTo(count)) await task.nextSignal("go", day);
    },
  }),
  defineTask({ name: "waits", input, handler: (_, task) => task.waitFor("go", day) }),
  defineTask({ name: "waits-for-any", input, handler: (_, task) => task.waitForAny({ go: {}, stop: {} }, day) }),
  defineTask({ name: "sleeps", input, handler: (_, task) => task.sleepUntil(wakeAt) }),
  defineTask({ name: "progress", input, handler: (_, task) => task.progress(40, { message: "page 4", data: [4] }) }),
  family("family", false),
  family("family-that-stops", true),
  aggregating("aggregate", ({ total }) => total),
  aggregating("aggregate-of-input", (children) => children.input.count),
  defineTask({
    name: "put",
    input,
    handler: ({ count }, task) => task.putSchedule("s", { cron: `0 ${count} * * *`, type: plain, input: {} }),
  }),
  defineTask({ name: "delete", input, handler: (_, task) => task.deleteSchedule("s") }),
  defineTask({ name: "link", input, handler: (_, task) => task.signalUrl("go", { expiresInSeconds: 600 }) }),
];

const nameOf = (error: unknown): string => (error as Error).name;

const { call, work, submitted, drain } = countedDeployment(types);
const { expectRow, left } = rowsOf("docs/cost.md");

const expectPriced = (name: string, cost: Cost) => expectRow(name, cost, priceOf(cost));

/** The requests of a task until it has ended so, and nothing of it is left. */
async function whole(type: string, input: object = {}, end: object = { status: "completed" }): Promise<Cost> {
  let id = "";
  const cost = await costOf(async () => {
    id = (await submitted(type, { input })).task_id;
    await drain();
  });
  expect(await call("GET", `/tasks/${id}`)).toMatchObject(end);
  return cost;
}

/** The requests of a task that fails, without the note of its kind of failure, which is written once a day. */
async function wholeFailure(type: string, input: object = {}, end: object = { status: "failed" }): Promise<Cost> {
  await whole(type, input, end);
  return whole(type, input, end);
}

const more = async (type: string, input: object = {}, end?: object) =>
  minus(await whole(type, input, end), await whole("plain"));

test("a task without them", async () => {
  expectPriced("a task without them: submit, attempt and end", await whole("plain"));
});

describe("the table has the requests of a step", () => {
  test.each([
    ["`task.step`", "step", 1],
    ["`task.step` with `maxAttempts`, which returns at once", "tries", 1],
    ["… which fails once, and then returns", "tries-twice", 1],
    ["… which fails twice, for good; `StepFailed` is caught", "tries-all", "StepFailed"],
    ["… which fails at once for good; `StepFailed` is caught", "tries-none", "StepFailed"],
  ])("%s", async (name, type, result) => {
    expectPriced(name, await more(type, {}, { status: "completed", attempts: 1, result }));
  });
});

test("a dead letter with `onFailed` costs more than one without", async () => {
  const end = { status: "failed", on_failed: { status: "completed" } };
  const cost = await wholeFailure("dead-with-code", {}, end);
  expectPriced("`onFailed`, for each dead letter", minus(cost, await wholeFailure("dead")));
});

describe("the table has the requests of children", () => {
  test("that the handler awaits", async () => {
    expectPriced("`task.run` of a child, with the child's own task", await more("runs"));
    expectPriced("`task.run` of ten children together, each", share(await more("runs", { count: 10 }), 10));
  });

  test("that stop each other", async () => {
    const difference = async (input: object, status = "failed") => {
      const [stopping, not] = ["family-that-stops", "family"] as const;
      const cost = await wholeFailure(stopping, input, { status });
      return minus(cost, await wholeFailure(not, input, { status }));
    };
    const unfailed = await difference({ failing: 0, later: 2 }, "completed");
    expectPriced("`children.stopOnFailure`, a family without failures", unfailed);
    const oneFailure = await difference({ failing: 1, later: 3, threshold: 0.5 }, "completed");
    expectPriced("… each failure before the stop", minus(oneFailure, unfailed));
    const stop = await difference({ failing: 1, later: 1 });
    expectPriced("… the stop, with a child that is cancelled before its start", stop);
    const tenth = share(minus(await difference({ failing: 1, later: 9 }), stop), 8);
    expectPriced("… each further child that is cancelled before its start", tenth);
  });

  test("whose aggregate reads the parent's input", async () => {
    const cost = await whole("aggregate-of-input");
    expectPriced("`children.input` in `aggregate`", minus(cost, await whole("aggregate")));
  });
});

describe("the table has the requests of a wait", () => {
  /** Sends the signals when the task waits, or before its start. */
  const signalled = async (type: string, { count, before }: { count: number; before: boolean }) => {
    const cost = await costOf(async () => {
      const { task_id } = await submitted(type, { input: { count } });
      if (!before) await work();
      for (const n of upTo(count)) await call("POST", `/tasks/${task_id}/signals/go`, { n });
      await drain();
    });
    return minus(cost, await whole("plain"));
  };

  test("for a signal", async () => {
    const one = { count: 1, before: false };
    expectPriced("`task.waitFor`, with the request that signals", await signalled("waits", one));
    expectPriced("`task.waitForAny` of two signals, with the request", await signalled("waits-for-any", one));
    expectPriced("`task.nextSignal` that waits for one, with its request", await signalled("next", one));
    const ten = await signalled("next", { count: 10, before: true });
    expectPriced("`task.nextSignal` of ten unread ones, each with its request", share(ten, 10));
  });

  test("for a time", async () => {
    const plain = await whole("plain");
    wakeAt = new Date(clock.now() + 300_000);
    const cost = await whole("sleeps");
    expectPriced("`task.sleep`, `task.sleepUntil`, of up to 15 minutes", minus(cost, plain));
  });
});

describe("the table has the requests of a call", () => {
  test("that reports progress", async () => {
    const end = { status: "completed", progress_message: "page 4", progress_data: [4] };
    expectPriced("`task.progress` with a message, each that is written", await more("progress", {}, end));
  });

  test("that writes a schedule", async () => {
    expectPriced("`task.putSchedule`, a new one", await more("put"));
    expectPriced("`task.putSchedule`, a change", await more("put", { count: 2 }));
    expectPriced("`task.putSchedule`, unchanged", await more("put", { count: 2 }));
    expectPriced("`task.deleteSchedule`", await more("delete"));
    expectPriced("`task.deleteSchedule`, there is none", await more("delete"));
  });

  test("that makes a link", async () => {
    expectPriced("`task.signalUrl`", await more("link"));
  });
});

test("no other row is in the table", () => {
  expect(left()).toEqual([]);
});
