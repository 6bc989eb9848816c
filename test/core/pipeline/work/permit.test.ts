import { expect, test } from "vitest";
import { changePriority } from "../../../../src/core/control/change-waiting.ts";
import { cancel } from "../../../../src/core/control/control.ts";
import type { FlowPorts } from "../../../../src/core/extras/limits/index.ts";
import { BusinessRuleViolation, LineUnavailable } from "../../../../src/core/model/errors.ts";
import { iso } from "../../../../src/core/model/record.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import type { Limiter, Permit, Waiting } from "../../../../src/core/task/limiter.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { children } from "../../../support/parts/children.ts";
import { notices } from "../../../support/parts/notices.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, notices);

/** Answers of a limiter. */
interface Answers {
  startMs?: number;
  starts?: boolean;
  fault?: unknown;
  waits?: { unfit: undefined } | "waits";
  down?: boolean;
  /** Seconds that the limiter takes to admit the task. */
  seconds?: number;
}

const child = typeOf(() => 1, { name: "child" });

/** A pipeline with one task, whose limiter notes each call beside the writes and messages of the pipeline. */
async function limited(handler: TaskType["handler"], answers: Answers = {}, more: Partial<TaskType> = {}) {
  const calls: string[] = [];
  const note = (call: string) => void calls.push(call);
  const noted = async (call: string) => note(call);
  const permit = (): Permit => ({
    ...{ as: "permit", startMs: answers.startMs, bucket: 7, fault: answers.fault, ticket: { hasPermit: true } },
    faultOfList: () => noted("faultOfList"),
    untilStart: async () => {
      note("untilStart");
      return answers.starts ?? true;
    },
    renew: () => noted("renew"),
    handlerEnded: () => note("handlerEnded"),
    settled: (as) => note(`settled ${as}`),
    end: () => noted("end"),
    giveBack: () => noted("giveBack"),
    unclaimed: () => noted("unclaimed"),
    refused: (record) => noted(`refused ${record?.status}`),
  });
  const waiting: Waiting = {
    as: "waiting",
    enqueue: async () => {
      note("enqueue");
      return answers.waits === "waits" ? undefined : answers.waits;
    },
    refused: (record) => noted(`refused ${record?.status}`),
  };
  const limiter: Limiter<FlowPorts> = {
    async admit(_, { ticket }) {
      note(ticket === undefined ? "admit" : `admit ${JSON.stringify(ticket)}`);
      if (answers.down) throw new LineUnavailable("the line");
      await new Promise<void>((resolve) => pipeline.clock.after((answers.seconds ?? 0) * 1000, resolve));
      return answers.waits === undefined ? permit() : waiting;
    },
    async ofCrashed(_, __, { place_bucket }) {
      note(`ofCrashed ${place_bucket}`);
      return permit();
    },
    settled: (_, { record }, as) => noted(`counted ${as} of attempt ${record.attempts}`),
    check: async () => "done",
  };
  const type = typeOf(async (input, task) => {
    note("handler");
    return handler(input, task);
  }, more);
  const pipeline = memoryPipeline([type, child]);
  const { records, notices, queues } = pipeline.ports;
  const record = await pipeline.accept({ callback: { url: "https://example.com/hook" } });
  const change = records.change.bind(records);
  records.change = async (key, asked) => {
    const changed = await change(key, asked);
    if (asked.set?.status !== undefined) note(`${changed.done ? "stored" : "refused"} ${asked.set.status}`);
    return changed;
  };
  const send = notices.send.bind(notices);
  notices.send = async (sent) => {
    note("told");
    return send(sent);
  };
  const dispatch = queues.send.bind(queues);
  queues.send = async (message) => {
    note("sent");
    return dispatch(message);
  };
  pipeline.ports.limiter = limiter;
  return { ...pipeline, calls, record, change };
}

/** The calls of one look at a task whose handler does this. */
async function callsOf(handler: TaskType["handler"], answers?: Answers, more?: Partial<TaskType>) {
  const world = await limited(handler, answers, more);
  await world.work();
  return world.calls;
}

const begun = ["admit", "stored processing", "handler", "handlerEnded"];

test("the permit of a completed attempt is told before anybody else is, and ends last", async () => {
  expect(await callsOf(() => 1)).toEqual([
    ...begun,
    ...["stored completed", "settled completed", "told", "counted completed of attempt 1", "end"],
  ]);
});

test("the permit of a failed attempt hears of it when all is told, and before the breaker counts", async () => {
  const failing = () => {
    throw new BusinessRuleViolation("no");
  };
  expect(await callsOf(failing)).toEqual([
    ...begun,
    ...["stored failed", "told", "settled failed", "counted failed of attempt 1", "end"],
  ]);
});

test("the permit of an attempt that is retried ends when the next one's message is sent", async () => {
  const failing = () => {
    throw new Error("not yet");
  };
  expect(await callsOf(failing)).toEqual([
    ...begun,
    ...["stored pending", "sent", "settled retried", "counted retried of attempt 1", "end"],
  ]);
});

test("the permit of a task that sleeps ends as that of a suspended attempt", async () => {
  const sleeping = (_: unknown, task: TaskContext) => task.sleep(600);
  expect(await callsOf(sleeping)).toEqual([
    ...begun,
    ...["stored pending", "sent", "settled suspended", "counted suspended of attempt 1", "end"],
  ]);
});

test("the permit of a cancelled attempt hears how it ended", async () => {
  const world = await limited(async () => {
    await cancel({ ...world.ports, types: world.types }, world.record);
    world.calls.splice(world.calls.indexOf("handler") + 1);
    throw new Error("stopped");
  });
  await world.work();
  expect(world.calls.filter((call) => call !== "told")).toEqual([
    ...begun,
    ...["refused pending", "stored cancelled", "settled cancelled", "counted cancelled of attempt 1", "end"],
  ]);
});

test("the permit of a parent that waits for its children ends with its attempt", async () => {
  const spawning = async (_: unknown, task: TaskContext) => void (await task.spawn(child, null));
  const calls = await callsOf(spawning, {}, { children: { threshold: 1 } });
  expect(calls.filter((call) => call !== "sent")).toEqual([
    ...begun,
    ...["settled waiting", "counted waiting of attempt 1", "end"],
  ]);
});

test("the permit of an attempt that has lost its task ends, and the attempt counts as neither success nor failure", async () => {
  const world = await limited(async () => {
    await world.change(world.record, { when: {}, set: { status: "cancelled", finished_at: iso(world.clock.now()) } });
  });
  await world.work();
  expect(world.calls).toEqual([
    ...begun,
    "refused completed",
    "settled stale",
    "counted stale of attempt 1",
    "told",
    "end",
  ]);
});

test("a permit is kept with each renewal of its attempt's lease", async () => {
  const world = await limited(
    () => new Promise<void>((resolve) => world.clock.after(300_000, resolve)),
    {},
    { timeoutSeconds: 600 },
  );
  const worked = world.work();
  for (let seconds = 0; seconds < 310; seconds += 1) await world.clock.advance(1_000);
  await worked;
  const renewals = world.calls.filter((call) => call === "renew").length;
  expect(renewals).toBeGreaterThan(1);
  expect(world.calls.slice(2, 4 + renewals)).toEqual(["handler", ...Array(renewals).fill("renew"), "handlerEnded"]);
});

test("a fault of the permit ends the attempt without a call of the handler", async () => {
  expect(await callsOf(() => 1, { fault: new BusinessRuleViolation("the key of a limit") })).toEqual([
    ...["admit", "stored processing", "handlerEnded"],
    ...["stored failed", "told", "settled failed", "counted failed of attempt 1", "end"],
  ]);
});

test("a task that has a start waits for it after its claim, and is put off when it has passed", async () => {
  const world = await limited(() => 1, { startMs: 1 });
  await world.work();
  expect(world.calls.slice(0, 4)).toEqual(["admit", "stored processing", "untilStart", "handler"]);
  expect(await callsOf(() => 1, { startMs: 1, starts: false })).toEqual([
    ...["admit", "stored processing", "untilStart", "stored pending", "sent", "end"],
  ]);
});

test("the permit of a task whose claim is refused hears of the record as it is, and nothing else", async () => {
  const world = await limited(() => 1);
  await world.change(world.record, { when: {}, set: { status: "cancelled", finished_at: iso(world.clock.now()) } });
  await world.work();
  expect(world.calls).toEqual(["admit", "refused processing", "refused cancelled", "told"]);
});

test("the permit of a task that is given up before its claim hears of that, and no claim is made", async () => {
  const world = await limited(() => 1, { seconds: 11 });
  const worked = world.work();
  for (let seconds = 0; seconds < 15; seconds += 1) await world.clock.advance(1_000);
  expect(await worked).toEqual(["again"]);
  expect(world.calls).toEqual(["admit", "unclaimed"]);
});

test("the permit of a claim that comes too late is given back", async () => {
  const world = await limited(() => 1);
  const { change } = world.records;
  world.records.change = async (key, asked) => {
    if (asked.set?.status === "processing") await new Promise<void>((resolve) => world.clock.after(11_000, resolve));
    return change.call(world.records, key, asked);
  };
  const worked = world.work();
  for (let seconds = 0; seconds < 15; seconds += 1) await world.clock.advance(1_000);
  expect(await worked).toEqual(["again"]);
  expect(world.calls).toEqual(["admit", "stored processing", "stored pending", "sent", "giveBack"]);
});

test("the permit of a crashed attempt is read before the crash is settled, and given back after it", async () => {
  const world = await limited(() => 1);
  const crashed = { status: "processing", attempts: 1, attempts_total: 1, place_bucket: 3 } as const;
  const lease_until = iso(world.clock.now() - 1);
  await world.change(world.record, { when: {}, set: { ...crashed, lease_until, lease_token: "of a dead worker" } });
  await world.work();
  expect(world.calls).toEqual([
    ...["admit", "refused processing", "refused processing"],
    ...["ofCrashed 3", "stored pending", "sent", "giveBack"],
  ]);
});

test("a task whose last attempt crashed asks again before it runs alone, with what it has been granted", async () => {
  const world = await limited(() => 1);
  await world.change(world.record, { when: {}, set: { error_kind: "crashed" } });
  await world.work();
  expect(world.calls.slice(0, 4)).toEqual([
    "admit",
    "refused processing",
    'admit {"hasPermit":true}',
    "stored processing",
  ]);
  expect(world.calls.at(-1)).toBe("end");
});

test("a task that may not start is put where it waits, once the other tasks of its batch are claimed", async () => {
  expect(await callsOf(() => 1, { waits: "waits" })).toEqual(["admit", "enqueue"]);
});

test("a task that may not start and cannot wait, as it is gone, returns what it was let go with", async () => {
  expect(await callsOf(() => 1, { waits: { unfit: undefined } })).toEqual(["admit", "enqueue", "refused undefined"]);
});

test("a message whose line does not answer is sent anew", async () => {
  expect(await callsOf(() => 1, { down: true })).toEqual(["admit", "sent"]);
});

test("a task that was moved to another tier is refused, and its message goes there", async () => {
  const world = await limited(() => 1);
  await changePriority(world.ports, world.record, "high");
  world.calls.splice(0);
  await world.work();
  expect(world.calls).toEqual(["admit", "refused processing", "refused pending", "sent"]);
});
