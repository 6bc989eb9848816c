import { describe, expect, test, vi } from "vitest";
import { changeInput, changePriority } from "../../../../src/core/control/change-waiting.ts";
import { extend, retry } from "../../../../src/core/control/control.ts";
import { pause, resume } from "../../../../src/core/extras/limits/manage-flow.ts";
import { PermanentError, PortUnavailable, RetryAfter } from "../../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import { tiers } from "../../../../src/core/model/words.ts";
import type { Part } from "../../../../src/core/ports/tasks.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { deletedBefore } from "../../../support/beside.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { limits } from "../../../support/parts/limits.ts";
import { operations } from "../../../support/parts/operations.ts";
import { rescue } from "../../../support/parts/rescue.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(limits, unique, operations, rescue, children);

const daySeconds = 86_400;
const dayMs = daySeconds * 1000;
const longest = 30 * daySeconds;

type Attempt = (task: TaskContext, pipeline: Pipeline, record: TaskRecord) => Promise<unknown>;

const body = { unique: { key: "k" }, retention_seconds: 60 };

/** Each attempt of a round fails in its own place, so that the stack of the one before leaves the record. */
const fails: Attempt[] = [
  async () => {
    throw new Error("one");
  },
  async () => {
    throw new Error("two");
  },
];

/**
 * A task with a unique key, a step and two rounds: the attempts of the first one are beside its record, and so are stacks.
 * @param attempts Of its second round, the first one of which may start now.
 */
async function secondRound(attempts: readonly Attempt[]) {
  const first: Attempt = async () => {
    throw new PermanentError("three");
  };
  const all = [...fails, first, ...fails, ...attempts];
  const handler = async (_: unknown, task: TaskContext) => {
    await task.step("one", () => 1);
    return all.shift()?.(task, pipeline, await pipeline.recordOf(accepted));
  };
  const pipeline: Pipeline = memoryPipeline([typeOf(handler, { children: {} })]);
  const accepted = await pipeline.accept(body);
  const runUntil = async (left: number) => {
    for (let events = 0; all.length > left && events < 20; events++) {
      await pipeline.clock.advance(Math.max(0, (pipeline.nextEvent() ?? 0) - pipeline.clock.now()));
      for (const tier of tiers) await pipeline.work(tier);
    }
    expect(all).toHaveLength(left);
  };
  await runUntil(fails.length + attempts.length);
  await retry(pipeline.ports, await pipeline.recordOf(accepted));
  await runUntil(attempts.length);
  const { clock } = pipeline;
  const record = await pipeline.recordOf(accepted);
  await clock.advance(Math.max(0, Date.parse(record.due_at) - clock.now()));
  const present = () => pipeline.recordOf(accepted);
  return { pipeline, clock, work: pipeline.work, present, record };
}

const extended: Attempt = async (_, pipeline, record) => {
  await extend(pipeline.ports, record, longest);
};

/** Pauses, while the time moves on by seconds. */
async function paused({ ports, clock }: Pipeline, of: "pause" | "resume"): Promise<void> {
  const target = { scope: "type", type: "test.task" } as const;
  let ended = false;
  const change = of === "pause" ? pause(ports, target, "olga") : resume(ports, target, "normal", "olga");
  void change.then(() => {
    ended = true;
  });
  while (!ended) await clock.advance(500);
}

/** The table deletes what is past its end. */
function purge({ records, uniqueKeys, clock }: Pipeline): void {
  records.purge(Math.floor(clock.now() / 1000));
  uniqueKeys.purge(Math.floor(clock.now() / 1000));
}

const days = async (pipeline: Pipeline, count: number, each?: (day: number) => Promise<unknown>) => {
  for (let day = 1; day <= count; day++) {
    await pipeline.clock.advance(dayMs);
    purge(pipeline);
    await each?.(day);
    await pipeline.reconcile(pipeline.clock.now() + 60_000);
    for (const tier of ["normal", "high"] as const) await pipeline.work(tier);
  }
};

describe("what is beside a record is kept as long as the record of an open task", () => {
  const waits: [string, Attempt][] = [
    ["is retried", () => Promise.reject(new RetryAfter(10 * daySeconds))],
    ["sleeps", (task) => task.sleep(10 * daySeconds)],
    ["waits for a signal", (task) => task.waitFor("go", { timeoutSeconds: 10 * daySeconds })],
    ["waits for its children", (task) => task.spawn({ name: "test.task" }, null, { delaySeconds: 10 * daySeconds })],
    ["fails for good", () => Promise.reject(new PermanentError("four"))],
  ];

  test.each(waits)("an attempt that %s", async (_, end) => {
    const { pipeline, work, present } = await secondRound([end]);
    await work();
    const after = await present();
    expect(await deletedBefore(pipeline, after)).toEqual([]);
  });

  test.each(waits)("an extension in the middle of an attempt that %s", async (_, end) => {
    const { pipeline, clock, work, present } = await secondRound([
      async (...given) => {
        await extended(...given);
        return end(...given);
      },
    ]);
    await work();
    const after = await present();
    expect(after.retention_seconds).toBe(longest);
    expect(after.purge_at).toBeGreaterThanOrEqual(clock.now() / 1000 + longest);
    expect(await deletedBefore(pipeline, after)).toEqual([]);
  });

  test.each(waits)("an extension after an attempt that %s", async (_, end) => {
    const { pipeline, clock, work, present } = await secondRound([end]);
    await work();
    // Less is left of what was kept for the wait than the extension adds.
    await clock.advance(9 * dayMs);
    await extend(pipeline.ports, await present(), longest);
    expect(await deletedBefore(pipeline, await present())).toEqual([]);
  });

  test("an operator's retry", async () => {
    const { pipeline, work, present, record } = await secondRound([waits.at(-1)?.[1] as Attempt]);
    await work();
    await pipeline.clock.advance(13 * dayMs);
    await retry(pipeline.ports, await present());
    const after = await present();
    expect(after.round).toBe(record.round + 1);
    expect(await deletedBefore(pipeline, after)).toEqual([]);
  });

  test("a failure after days in a queue", async () => {
    const pipeline = memoryPipeline([typeOf(() => Promise.reject(new PermanentError("one")))]);
    const accepted = await pipeline.accept(body);
    await pipeline.clock.advance(13 * dayMs);
    await pipeline.work();
    const letter = await pipeline.recordOf(accepted);
    expect(letter.status).toBe("failed");
    expect(await deletedBefore(pipeline, letter)).toEqual([]);
  });

  test("an extension in a line: the record is kept as long as its entry there, by the reconciliation", async () => {
    const pipeline = memoryPipeline([typeOf(async () => 1)]);
    await paused(pipeline, "pause");
    const accepted = await pipeline.accept(body);
    await pipeline.work();
    const parked = await pipeline.recordOf(accepted);
    await pipeline.clock.advance(35 * dayMs);
    const after = await extend(pipeline.ports, parked, longest);
    expect(after).toMatchObject({ purge_at: parked.purge_at, retention_seconds: longest });
  });

  test("a wait in a line, and the reconciliation that keeps it there", async () => {
    const { pipeline, work, present } = await secondRound([(task) => task.sleep(daySeconds), async () => 1]);
    await work();
    await paused(pipeline, "pause");
    await pipeline.clock.advance(dayMs);
    await pipeline.fire();
    await work();
    const parked = await present();
    expect(parked.line).toBeDefined();
    expect(await deletedBefore(pipeline, parked)).toEqual([]);
    await days(pipeline, 41);
    const kept = await present();
    expect(kept.purge_at).toBeGreaterThan(parked.purge_at);
    expect(await deletedBefore(pipeline, kept)).toEqual([]);
  });

  test("a start after a pause, by a message whose worker could not put the task into its line", async () => {
    const early: string[][] = [];
    const looks: Attempt = async (_, pipeline, record) => {
      early.push(await deletedBefore(pipeline, record));
    };
    const { pipeline, clock, work, present } = await secondRound([looks]);
    await paused(pipeline, "pause");
    const failing = vi.spyOn(pipeline.uniqueKeys, "keep").mockRejectedValue(new PortUnavailable("the table"));
    await work();
    expect((await present()).line).toBe("pause/type/test.task");
    failing.mockRestore();
    await paused(pipeline, "resume");
    await clock.advance(30_000);
    await work();
    expect((await present()).status).toBe("completed");
    expect(early).toEqual([[]]);
  });
});

describe("a call that another one overtakes, whose task sleeps for weeks by then", () => {
  const input = { input: 2, version: 1 };
  const calls: [string, Part, (pipeline: Pipeline, letter: TaskRecord) => Promise<unknown>][] = [
    ["an operator's retry", "round#1", ({ ports }, letter) => retry(ports, letter)],
    ["an operator's retry", "envelope", ({ ports }, letter) => retry(ports, letter)],
    ["an extension", "envelope", ({ ports }, letter) => extend(ports, letter, 22 * daySeconds)],
    ["an extension", "input#", ({ ports }, letter) => extend(ports, letter, 22 * daySeconds)],
  ];

  test.each(calls)("%s shortens no time of %s", async (_, part, call) => {
    const attempts = [() => Promise.reject(new PermanentError("one")), (task: TaskContext) => task.sleep(longest)];
    const pipeline = memoryPipeline([typeOf(async (_, task) => attempts.shift()?.(task))]);
    const accepted = await pipeline.accept({ ...body, delay_seconds: 60 });
    if (part === "input#") await changeInput(pipeline.ports, accepted, input);
    await pipeline.clock.advance(60_000);
    await pipeline.work();
    const { records } = pipeline;
    const { savePart, keepPart } = records;
    let isOvertaken = false;
    const overtake = async (name: Part) => {
      if (!name.startsWith(part) || isOvertaken) return;
      isOvertaken = true;
      await retry(pipeline.ports, await pipeline.recordOf(accepted));
      await pipeline.work();
    };
    vi.spyOn(records, "savePart").mockImplementation(async (key, name, ...rest) => {
      await overtake(name);
      await savePart.call(records, key, name, ...rest);
    });
    vi.spyOn(records, "keepPart").mockImplementation(async (key, name, until) => {
      await overtake(name);
      await keepPart.call(records, key, name, until);
    });
    await call(pipeline, await pipeline.recordOf(accepted)).catch(() => undefined);
    const sleeping = await pipeline.recordOf(accepted);
    expect([isOvertaken, sleeping.status, sleeping.round]).toEqual([true, "pending", 2]);
    expect(await deletedBefore(pipeline, sleeping)).toEqual([]);
  });
});

describe("a new input and a longer time at once", () => {
  type Call = (pipeline: Pipeline, record: TaskRecord) => Promise<unknown>;
  const given = { input: 2, version: 1 };
  const replaces: Call = (pipeline) => pipeline.accept({ unique: { key: "k", mode: "replace" }, input: 3 });
  const changes: Call = ({ ports }, record) => changeInput(ports, record, given);
  const extends_: Call = ({ ports }, record) => extend(ports, record, 29 * daySeconds);
  const parks: Call = async (pipeline) => {
    await paused(pipeline, "pause");
    await pipeline.work();
  };
  const calls: [string, string, Call, Call][] = [
    ["an extension", "a change of the input", extends_, changes],
    ["an extension", "a submit that replaces the input", extends_, replaces],
    ["a line", "a change of the input", parks, changes],
    ["a line", "a submit that replaces the input", parks, replaces],
    ["a change of the input", "an extension", changes, extends_],
    ["a submit that replaces the input", "an extension", replaces, extends_],
  ];

  test.each(calls)("%s comes between %s and its condition", async (_between, _late, between, late) => {
    const pipeline = memoryPipeline([typeOf(async () => 1)]);
    const accepted = await pipeline.accept({ unique: { key: "k", mode: "replace" }, retention_seconds: 60 });
    const { records } = pipeline;
    const change = records.change.bind(records);
    let isFirst = true;
    vi.spyOn(records, "change").mockImplementation(async (...call) => {
      if (isFirst) {
        isFirst = false;
        await between(pipeline, await pipeline.recordOf(accepted));
      }
      return change(...call);
    });
    await late(pipeline, await pipeline.recordOf(accepted));
    const after = await pipeline.recordOf(accepted);
    expect([after.status, typeof after.input_part]).toEqual(["pending", "string"]);
    expect(after.purge_at).toBeGreaterThan(accepted.purge_at);
    expect(await deletedBefore(pipeline, after)).toEqual([]);
  });
});

describe("a type that is paused for months", () => {
  const changes: [string, (pipeline: Pipeline, record: TaskRecord) => Promise<unknown>][] = [
    ["nothing changes", async () => {}],
    ["is extended each day", (pipeline, record) => extend(pipeline.ports, record, longest)],
    ["is moved", (pipeline, record) => changePriority(pipeline.ports, record, "high")],
    ["gets another input", (pipeline, record) => changeInput(pipeline.ports, record, { input: 2, version: 1 })],
  ];

  test.each(changes)("runs its task of a unique key after the resume, of which %s", async (what, change) => {
    const ran: unknown[] = [];
    const pipeline = memoryPipeline([typeOf(async (input) => void ran.push(input))]);
    await paused(pipeline, "pause");
    // The daily look at a line puts its first task into it anew.
    await pipeline.accept({ input: 0 });
    await pipeline.work();
    const first = await pipeline.accept({ ...body, input: 1 });
    await pipeline.work();
    const isDaily = what.endsWith("each day");
    await days(pipeline, 130, async (day) => {
      if (isDaily || day === 39) await change(pipeline, await pipeline.recordOf(first));
    });
    expect((await pipeline.accept({ ...body, input: 1 })).task_id).toBe(first.task_id);
    await paused(pipeline, "resume");
    await pipeline.drain();
    expect(ran.toSorted()).toEqual([0, what.startsWith("gets") ? 2 : 1]);
  });
});

test("a debounced task of a burst of a week has its key for as long as its record", async () => {
  const pipeline = memoryPipeline([typeOf(async () => 1)]);
  const debounce = { key: "k", mode: "debounce", wait_seconds: daySeconds, max_wait_seconds: 7 * daySeconds };
  const record = await pipeline.accept({ unique: debounce });
  for (let submits = 0; submits < 5; submits++) {
    await pipeline.clock.advance(0.9 * dayMs);
    await pipeline.accept({ unique: debounce });
  }
  const after = await pipeline.recordOf(record);
  expect(after.replaced).toBe(5);
  const key = { ...after, unique_key: after.unique_key ?? "" };
  expect(pipeline.uniqueKeys.purgeAtOf(key)).toBeGreaterThanOrEqual(after.purge_at);
  expect(await pipeline.records.loadPart(after, `input#${after.input_part}`)).toBeDefined();
});

test("a task whose type keeps all inputs has its input for as long as it is extended", async () => {
  const pipeline = memoryPipeline([typeOf(async () => 1, { keepInput: true })]);
  const record = await pipeline.accept({ input: "x".repeat(3000) });
  await pipeline.drain();
  await extend(pipeline.ports, await pipeline.recordOf(record), longest);
  expect(await deletedBefore(pipeline, await pipeline.recordOf(record))).toEqual([]);
});

test.each([true, false])(
  "an extension and the message of a completed task whose type is sensitive: %s",
  async (sensitive) => {
    const type = typeOf((_, task) => task.sleep(3600).then(() => 1), { sensitive, children: {} });
    const pipeline = memoryPipeline([type]);
    const accepted = await pipeline.accept({ input: { a: 1 }, retention_seconds: 60 });
    await pipeline.drain();
    const record = await pipeline.recordOf(accepted);
    expect(record).toMatchObject({ status: "completed" });
    const kept = () => pipeline.records.purgeAtOf(record, "envelope") ?? 0;
    const before = kept();
    expect(before).toBeGreaterThan(0);
    await extend(pipeline.ports, record, longest);
    // Nothing needs it: the input is not kept for longer than it has to be.
    if (sensitive) expect(kept()).toBe(before);
    else expect(kept()).toBeGreaterThanOrEqual(pipeline.clock.now() / 1000 + longest);
  },
);
