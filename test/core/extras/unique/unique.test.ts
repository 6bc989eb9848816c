import { describe, expect, test, vi } from "vitest";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import type { SubmitCall } from "../../../../src/core/pipeline/submit/submit-ports.ts";
import { gate } from "../../../support/gate.ts";
import { operator, submitter } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { operations } from "../../../support/parts/operations.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(unique, operations);

/** A pipeline whose type keeps the inputs that ran. */
function keeping(handler: (input: unknown) => unknown = () => "done") {
  const ran: unknown[] = [];
  const type = typeOf((input) => {
    ran.push(input);
    return handler(input);
  });
  const pipeline = memoryPipeline([type, typeOf(() => null, { name: "other.task" })]);
  const send = vi.spyOn(pipeline.queues, "send");
  const submitUnique = (unique: object, input: unknown, more: object = {}, call: Partial<SubmitCall> = {}) =>
    submit(pipeline.ports, {
      identity: operator,
      body: { type: "test.task", input, unique: { key: "k", ...unique }, ...more },
      correlationId: "corr",
      ...call,
    });
  return { ...pipeline, ran, send, submitUnique };
}

const letters = ({ queues }: ReturnType<typeof keeping>): unknown[] =>
  queues.deadLettersOf("normal").map(({ body }) => JSON.parse(body));

const open = async ({ records }: ReturnType<typeof keeping>): Promise<TaskRecord[]> =>
  records.all().filter(({ status, purge_at }) => status === "pending" && purge_at > 1e9);

describe("any mode", () => {
  test.each(["existing", "reject", "replace", "debounce"])(
    "a submit with a free key makes a task: %s",
    async (mode) => {
      const pipeline = keeping();
      const wait = mode === "debounce" ? { wait_seconds: 5 } : {};
      const { record, replayed } = await pipeline.submitUnique({ mode, ...wait }, "one");
      expect(replayed).toBe(false);
      await pipeline.drain();
      expect(pipeline.ran).toEqual(["one"]);
      expect((await pipeline.recordOf(record)).status).toBe("completed");
      expect(pipeline.send).toHaveBeenCalledTimes(1);
    },
  );

  test.each(["existing", "reject", "replace", "debounce"])(
    "the key of a task that has ended is free: %s",
    async (mode) => {
      const pipeline = keeping();
      const wait = mode === "debounce" ? { wait_seconds: 5 } : {};
      const first = await pipeline.submitUnique({ mode, ...wait }, "one");
      await pipeline.drain();
      const second = await pipeline.submitUnique({ mode, ...wait }, "two");
      expect(second).toMatchObject({ replayed: false });
      expect(second.record.task_id).not.toBe(first.record.task_id);
      await pipeline.drain();
      expect(pipeline.ran).toEqual(["one", "two"]);
    },
  );

  test("keys of another type, tenant or submitter are others", async () => {
    const pipeline = keeping();
    const { submitUnique } = pipeline;
    const mode = { mode: "reject" };
    const answers = [
      await submitUnique(mode, 1),
      await submitUnique(mode, 1, { type: "other.task" }),
      await submitUnique(mode, 1, {}, { identity: { ...operator, tenantId: "globex" } }),
      await submitUnique(mode, 1, {}, { identity: submitter }),
      await submitUnique(mode, 1, {}, { identity: { ...submitter, principal: "sue" } }),
      await submitUnique({ mode: "reject", key: "other" }, 1),
    ];
    expect(new Set(answers.map(({ record }) => record.task_id)).size).toBe(6);
    // The operators of a tenant share their keys.
    await expect(submitUnique(mode, 1, {}, { identity: { ...operator, principal: "otto" } })).rejects.toMatchObject({
      code: "conflict",
    });
  });

  test.each([
    ["expired", { expires_in_seconds: 10 }],
    ["purged", { retention_seconds: 60 }],
  ])("the key of a task that is %s is free", async (how, more) => {
    const pipeline = keeping();
    const first = await pipeline.submitUnique({}, "one", more);
    if (how === "purged") await pipeline.work();
    await pipeline.clock.advance(100_000);
    const second = await pipeline.submitUnique({}, "two");
    expect(second.replayed).toBe(false);
    const leavesTask = await pipeline.records.get(first.record);
    if (how === "expired") expect(leavesTask?.status).toBe("expired");
    await pipeline.drain();
    expect(pipeline.ran.at(-1)).toBe("two");
  });

  test("a handler's child is unique where it is submitted, and a family's child cannot be", async () => {
    const pipeline = keeping();
    const family = { family: { family_leaf: "l", family_place: 0, family_round: 1 } };
    // As a worker's spawn, which has no unique submits.
    const call = {
      identity: operator,
      body: { type: "test.task", unique: { key: "k" } },
      correlationId: "corr",
      ...family,
    };
    const { submitUnique: _, ...ports } = pipeline.ports;
    await expect(submit(ports, call)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(pipeline.submitUnique({}, 1, {}, family)).rejects.toMatchObject({
      code: "invalid_input",
      options: { errors: [{ path: "/unique" }] },
    });
  });
});

describe("existing and reject", () => {
  test("a submit gets the task that has not ended: while it waits, and while it runs", async () => {
    const running = gate();
    const pipeline = keeping(() => running.opened);
    const { record } = await pipeline.submitUnique({}, "one");
    const second = await pipeline.submitUnique({ mode: "existing" }, "two");
    expect(second).toMatchObject({ replayed: true, record: { task_id: record.task_id, status: "pending" } });
    const working = pipeline.work();
    await pipeline.clock.advance(0);
    const third = await pipeline.submitUnique({}, "three");
    expect(third).toMatchObject({ replayed: true, record: { task_id: record.task_id, status: "processing" } });
    running.open();
    await working;
    expect(pipeline.ran).toEqual(["one"]);
    expect(pipeline.send).toHaveBeenCalledTimes(1);
  });

  test("a task that waits for its next attempt, or for its children, still has its key", async () => {
    const pipeline = keeping(() => {
      throw new Error("no");
    });
    const { record } = await pipeline.submitUnique({}, "one");
    await pipeline.work();
    expect((await pipeline.recordOf(record)).history).toHaveLength(1);
    expect((await pipeline.submitUnique({}, "two")).record.task_id).toBe(record.task_id);
    await pipeline.drain();
    expect((await pipeline.submitUnique({}, "three")).replayed).toBe(false);
  });

  test("reject answers with the task that has the key", async () => {
    const pipeline = keeping();
    const { record } = await pipeline.submitUnique({ mode: "reject" }, "one");
    await expect(pipeline.submitUnique({ mode: "reject" }, "two")).rejects.toMatchObject({
      code: "conflict",
      options: { extra: { task_id: record.task_id } },
    });
    expect(pipeline.records.all()).toHaveLength(1);
  });

  test("a retried task goes on although another one has its key, which keeps it", async () => {
    const { retry } = await import("../../../../src/core/control/control.ts");
    const pipeline = keeping((input) => {
      if (input === "bad") throw Object.assign(new Error("no"), { status: 404 });
      return 1;
    });
    const { record } = await pipeline.submitUnique({}, "bad");
    await pipeline.drain();
    const next = await pipeline.submitUnique({}, "good", { delay_seconds: 60 });
    await retry(pipeline.ports, await pipeline.recordOf(record));
    expect((await pipeline.submitUnique({}, "more")).record.task_id).toBe(next.record.task_id);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["bad", "bad", "good"]);
  });

  test("a retried task has its key again when no other task took it", async () => {
    const { retry } = await import("../../../../src/core/control/control.ts");
    const pipeline = keeping(() => {
      throw Object.assign(new Error("no"), { status: 404 });
    });
    const { record } = await pipeline.submitUnique({}, "bad");
    await pipeline.drain();
    await retry(pipeline.ports, await pipeline.recordOf(record));
    expect((await pipeline.submitUnique({}, "more")).record.task_id).toBe(record.task_id);
  });
});

describe("replace", () => {
  const replace = { mode: "replace" };

  test("a waiting task runs once, with the last input, and keeps the rest of its first submit", async () => {
    const pipeline = keeping();
    const first = await pipeline.submitUnique(replace, "one", { tags: { a: "1" }, delay_seconds: 60 });
    for (const input of ["two", "three"]) {
      const { record, replayed } = await pipeline.submitUnique(replace, input, { tags: { a: "2" }, priority: "low" });
      expect({ replayed, task_id: record.task_id }).toEqual({ replayed: true, task_id: first.record.task_id });
      expect(record).toMatchObject({ tags: { a: "1" }, due_at: first.record.due_at, priority: "normal" });
    }
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["three"]);
    expect(pipeline.send).toHaveBeenCalledTimes(1);
  });

  test("a task that has started is left alone: the input gets a task of its own, which has the key", async () => {
    const running = gate();
    const pipeline = keeping((input) => (input === "one" ? running.opened : "done"));
    const first = await pipeline.submitUnique(replace, "one");
    const working = pipeline.work();
    await pipeline.clock.advance(0);
    const second = await pipeline.submitUnique(replace, "two", { delay_seconds: 5 });
    expect(second.replayed).toBe(false);
    const third = await pipeline.submitUnique(replace, "three");
    expect(third.record.task_id).toBe(second.record.task_id);
    running.open();
    await working;
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "three"]);
    expect((await pipeline.recordOf(first.record)).status).toBe("completed");
  });

  test("a task that waits for its second attempt is not changed", async () => {
    const pipeline = keeping((input) => {
      if (input === "one") throw new Error("no");
      return 1;
    });
    const first = await pipeline.submitUnique(replace, "one");
    await pipeline.work();
    const second = await pipeline.submitUnique(replace, "two");
    expect(second.record.task_id).not.toBe(first.record.task_id);
  });

  test("every later attempt, the dead letter and its replay have the new input", async () => {
    const { retry } = await import("../../../../src/core/control/control.ts");
    let fails = true;
    const pipeline = keeping(() => {
      if (fails) throw new Error("no");
      return "done";
    });
    const { record } = await pipeline.submitUnique(replace, "one", { max_attempts: 2, delay_seconds: 5 });
    await pipeline.submitUnique(replace, "two");
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two", "two"]);
    expect(letters(pipeline)).toMatchObject([{ original_message: { input: "two" } }]);
    expect(await pipeline.records.loadPart(record, "envelope")).toMatchObject({ input: "two" });
    fails = false;
    await retry(pipeline.ports, await pipeline.recordOf(record));
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two", "two", "two"]);
  });

  test("a task that no worker can start becomes a dead letter with the new input", async () => {
    const pipeline = keeping();
    const { record } = await pipeline.submitUnique(replace, "one");
    await pipeline.submitUnique(replace, "two");
    for (let times = 0; times < 4; times++) await pipeline.redrive();
    expect((await pipeline.recordOf(record)).status).toBe("failed");
    expect(letters(pipeline)).toMatchObject([{ original_message: { input: "two" } }]);
  });

  test("large inputs replace and are replaced", async () => {
    const pipeline = keeping();
    const large = (letter: string) => ({ pad: letter.repeat(60_000) });
    await pipeline.submitUnique(replace, large("a"));
    await pipeline.submitUnique(replace, large("b"));
    await pipeline.drain();
    expect(pipeline.ran).toEqual([large("b")]);
    await pipeline.submitUnique(replace, large("a"));
    await pipeline.submitUnique(replace, "small");
    await pipeline.drain();
    expect(pipeline.ran.at(-1)).toBe("small");
  });

  test("an input that does not fit is refused, and changes nothing", async () => {
    const pipeline = keeping();
    await pipeline.submitUnique(replace, "one");
    await expect(pipeline.submitUnique(replace, { pad: "p".repeat(1_100_000) })).rejects.toMatchObject({
      code: "too_large",
    });
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });
});

describe("debounce", () => {
  const debounce = { mode: "debounce", wait_seconds: 10, max_wait_seconds: 60 };

  test("a burst runs once, with its last input, after the last submit's wait", async () => {
    const pipeline = keeping();
    const { clock } = pipeline;
    const startedAt = clock.now();
    const { record } = await pipeline.submitUnique(debounce, 0);
    expect(record).toMatchObject({ due_at: iso(startedAt + 10_000), run_at: iso(startedAt + 10_000) });
    for (let n = 1; n <= 4; n++) {
      await clock.advance(5_000);
      await pipeline.work();
      expect((await pipeline.submitUnique(debounce, n)).record.task_id).toBe(record.task_id);
    }
    await pipeline.drain();
    expect(pipeline.ran).toEqual([4]);
    const ended = await pipeline.recordOf(record);
    expect(Date.parse(ended.started_at ?? "") - startedAt).toBeGreaterThanOrEqual(30_000);
    expect(Date.parse(ended.started_at ?? "") - startedAt).toBeLessThan(33_000);
  });

  test("a burst that does not end runs after max_wait_seconds, and a later submit starts another one", async () => {
    const pipeline = keeping();
    const { clock } = pipeline;
    const startedAt = clock.now();
    const tasks = new Set<string>();
    const starts: number[] = [];
    for (let second = 0; second < 130; second++) {
      tasks.add((await pipeline.submitUnique(debounce, second)).record.task_id);
      await clock.advance(1_000);
      await pipeline.work();
      if (pipeline.ran.length > starts.length) starts.push(clock.now() - startedAt);
    }
    await pipeline.drain();
    expect(tasks.size).toBe(3);
    expect(pipeline.ran).toHaveLength(3);
    expect(pipeline.ran.at(-1)).toBe(129);
    expect(starts[0]).toBeGreaterThanOrEqual(60_000);
    expect(starts[0]).toBeLessThan(63_000);
  });

  test("later submits send no messages, and hours of them make no dead letter", async () => {
    const pipeline = keeping();
    const { clock, queues, redrive, work } = pipeline;
    const long = { mode: "debounce", wait_seconds: 2, max_wait_seconds: 7200 };
    await pipeline.submitUnique(long, 0);
    for (let second = 1; second < 7200; second++) {
      await clock.advance(1_000);
      const spent = queues.waiting("normal").some(({ receiveCount }) => receiveCount >= 5);
      await (spent ? redrive() : work());
      await pipeline.submitUnique(long, second);
    }
    expect(pipeline.ran).toEqual([]);
    expect(queues.waiting("normal")).toHaveLength(1);
    expect(pipeline.send.mock.calls.length).toBeLessThan(7200);
    await pipeline.drain();
    expect(pipeline.ran).toHaveLength(1);
    expect(letters(pipeline)).toEqual([]);
  });

  test("a second message with the first input does not outlive the new one", async () => {
    const pipeline = keeping();
    const { record } = await pipeline.submitUnique(debounce, "one");
    const [twin] = pipeline.send.mock.calls;
    await pipeline.submitUnique(debounce, "two");
    if (twin !== undefined) await pipeline.queues.send({ ...twin[0], delaySeconds: 0 });
    await pipeline.work();
    const inputs = pipeline.queues.waiting("normal").map(({ body }) => JSON.parse(body).input);
    expect(inputs.sort()).toEqual(["one", "two"]);
    await pipeline.drain();
    expect((await pipeline.recordOf(record)).attempts_total).toBe(1);
  });

  test("waits of hours use one-offs", async () => {
    const pipeline = keeping();
    const long = { mode: "debounce", wait_seconds: 7200 };
    const { record } = await pipeline.submitUnique(long, "one");
    await pipeline.clock.advance(3_600_000);
    await pipeline.submitUnique(long, "two");
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two"]);
    const { started_at = "", created_at } = await pipeline.recordOf(record);
    expect(Date.parse(started_at) - Date.parse(created_at)).toBeGreaterThanOrEqual(10_800_000);
  });

  test("a shorter wait runs the task earlier", async () => {
    const pipeline = keeping();
    const { record } = await pipeline.submitUnique({ mode: "debounce", wait_seconds: 3600 }, "one");
    await pipeline.submitUnique(debounce, "two");
    await pipeline.clock.advance(10_000);
    await pipeline.work();
    expect(pipeline.ran).toEqual(["two"]);
    await pipeline.drain();
    expect((await pipeline.recordOf(record)).attempts_total).toBe(1);
  });

  test("a task that is kept for longer keeps its key for longer", async () => {
    const pipeline = keeping();
    const { record } = await pipeline.submitUnique({ mode: "debounce", wait_seconds: 1 }, "one");
    const key = { ...record, unique_key: record.unique_key ?? "" };
    const before = pipeline.uniqueKeys.purgeAtOf(key) ?? 0;
    await pipeline.submitUnique({ mode: "debounce", wait_seconds: 86_400 }, "two");
    expect(pipeline.uniqueKeys.purgeAtOf(key)).toBeGreaterThan(before + 86_000);
    expect((await pipeline.recordOf(record)).purge_at).toBeLessThan(pipeline.uniqueKeys.purgeAtOf(key) ?? 0);
  });
});

test("a submit that joins a task gives its place back, and not its token", async () => {
  const pipeline = keeping();
  const given: string[] = [];
  const admission = { counted: true, giveBack: () => given.push("all"), giveBackTask: () => given.push("task") };
  const gate = { admit: async () => admission, admitUpload: async () => 0, takeUpload: async () => {} };
  const call = { identity: operator, body: { type: "test.task", input: 1, unique: { key: "k" } }, correlationId: "c" };
  const first = await submit({ ...pipeline.ports, gate }, call);
  expect(first.record.counted).toBe(true);
  await submit({ ...pipeline.ports, gate }, call);
  expect(given).toEqual(["task"]);
  expect(await open(pipeline)).toHaveLength(1);
});
