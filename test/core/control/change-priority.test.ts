import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { changePriority } from "../../../src/core/control/change-waiting.ts";
import { cancel, retry } from "../../../src/core/control/control.ts";
import { signal } from "../../../src/core/extras/steps/signal.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { parseDeadLetter, parseEnvelope } from "../../../src/core/model/read-envelope.ts";
import { iso, type TaskRecord } from "../../../src/core/model/record.ts";
import type { Tier } from "../../../src/core/model/words.ts";
import { viewOf } from "../../../src/core/pipeline/end/view.ts";
import { defineTask, type TaskType } from "../../../src/core/task/task.ts";
import { gate } from "../../support/gate.ts";
import { type Pipeline, pipelineWith } from "../../support/memory-pipeline.ts";
import { children } from "../../support/parts/children.ts";
import { limits } from "../../support/parts/limits.ts";
import { notices } from "../../support/parts/notices.ts";
import { operations } from "../../support/parts/operations.ts";
import { unique } from "../../support/parts/unique.ts";
import { typeOf } from "../../support/task-types.ts";

const memoryPipeline = pipelineWith(children, limits, notices, operations, unique);

/** A pipeline whose handler notes the inputs that it gets. */
function setUp(more: Partial<TaskType> = {}, then: TaskType["handler"] = () => "result") {
  const ran: unknown[] = [];
  const type = typeOf(
    (input, task) => {
      ran.push(input);
      return then(input, task);
    },
    { priority: "low", ...more },
  );
  return { ...memoryPipeline([type]), ran };
}

/** Inputs of each kind: kept in the record, too large for it, too large for a message. */
const small = { order: 4711, name: "Ada \ufffe" };
/** One that its record keeps only while the task waits. */
const middle = { text: "x".repeat(200) };
const large = { text: "x".repeat(600) };
const huge = { text: "x".repeat(50_000) };

const waiting = ({ queues }: Pipeline, tier: Tier) => queues.waiting(tier).length;

/** Works on one tier until nothing in it is left to do now. */
async function emptied(pipeline: Pipeline, tier: Tier): Promise<void> {
  while ((await pipeline.work(tier)).length > 0);
}

describe("a task whose message waits in its tier", () => {
  test.each([
    ["a small input", small],
    ["no input", null],
    ["an input in the bucket", huge],
  ])("with %s gets a message in its new tier immediately, and runs once", async (_, input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input });
    await pipeline.clock.advance(1_000);
    const moved = await changePriority(pipeline.ports, record, "high");
    expect(moved).toMatchObject({ status: "pending", priority: "high", updated_at: iso(pipeline.clock.now()) });
    expect([waiting(pipeline, "low"), waiting(pipeline, "high")]).toEqual([1, 1]);
    await emptied(pipeline, "high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 1, priority: "high" });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([input]);
    expect([waiting(pipeline, "low"), waiting(pipeline, "high")]).toEqual([0, 0]);
  });

  test("stays where a later call has moved it when a write of the earlier call comes late once more", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: small });
    const write = vi.spyOn(pipeline.records, "change");
    await pipeline.clock.advance(1_000);
    const moved = await changePriority(pipeline.ports, record, "high");
    const [late] = write.mock.calls;
    await pipeline.clock.advance(1_000);
    await changePriority(pipeline.ports, moved, "low");
    if (late === undefined) throw new Error("the move wrote nothing");
    expect(await pipeline.records.change(...late)).toMatchObject({ done: false, record: { priority: "low" } });
  });

  test("the new message is the old one but for its id and time", async () => {
    const pipeline = setUp({ version: 3 });
    const trace = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const record = await pipeline.accept({ input: small, max_attempts: 2 }, { traceparent: trace });
    await changePriority(pipeline.ports, record, "high");
    const [old, fresh] = (["low", "high"] as const).map((tier) => {
      const parsed = parseEnvelope(pipeline.queues.waiting(tier)[0]?.body ?? "");
      return parsed.ok ? parsed.envelope : undefined;
    });
    expect(fresh).toEqual({ ...old, message_id: expect.not.stringMatching(old?.message_id ?? "") });
  });

  test("with an input that the record does not have, the old tier's worker sends its message on", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: large });
    await changePriority(pipeline.ports, record, "high");
    expect([waiting(pipeline, "low"), waiting(pipeline, "high")]).toEqual([1, 0]);
    expect(await pipeline.work("low")).toEqual(["done"]);
    expect(pipeline.ran).toEqual([]);
    expect([waiting(pipeline, "low"), waiting(pipeline, "high")]).toEqual([0, 1]);
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 1 });
    expect(pipeline.ran).toEqual([large]);
  });

  test.each([small, large])("may be moved again and again, also back, and runs once", async (input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input });
    const moves = [
      { from: "low", to: "high" },
      { from: "high", to: "normal" },
      { from: "normal", to: "critical" },
      { from: "critical", to: "low" },
    ] as const;
    for (const { from, to } of moves) {
      await changePriority(pipeline.ports, record, to);
      await pipeline.work(from);
    }
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority: "low" });
    expect(pipeline.ran).toEqual([input]);
  });

  test("a worker of the old tier cannot start it", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: small });
    await changePriority(pipeline.ports, record, "high");
    await emptied(pipeline, "low");
    expect(pipeline.ran).toEqual([]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([small]);
  });

  test("a message that redrive gets goes to the new tier", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: large });
    await changePriority(pipeline.ports, record, "high");
    expect(await pipeline.redrive("low")).toEqual(["done"]);
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("the queue of container workers is that of the new tier", async () => {
    const pipeline = setUp({ runsOn: "container" });
    const record = await pipeline.accept({ input: small });
    await changePriority(pipeline.ports, record, "high");
    expect(pipeline.queues.waiting("high")).toMatchObject([{ runsOn: "container" }]);
  });

  test("its dead letter goes to the DLQ of the new tier", async () => {
    const pipeline = setUp({ maxAttempts: 1 }, () => Promise.reject(new Error("no")));
    const record = await pipeline.accept({ input: small });
    await changePriority(pipeline.ports, record, "high");
    await pipeline.drain();
    expect(pipeline.queues.deadLettersOf("low")).toEqual([]);
    expect(pipeline.queues.deadLettersOf("high").map(({ body }) => parseDeadLetter(body))).toMatchObject([
      { original_queue: "high" },
    ]);
  });
});

describe("a task that waits for a time", () => {
  test("in a long wait, its record is enough", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: large, delay_seconds: 7_200 });
    expect(await changePriority(pipeline.ports, record, "high")).toMatchObject({ priority: "high" });
    expect(pipeline.oneOffs.all().size).toBe(1);
    expect(waiting(pipeline, "high")).toBe(0);
    await pipeline.clock.advance(7_150_000);
    await pipeline.fire();
    expect([waiting(pipeline, "low"), waiting(pipeline, "high")]).toEqual([0, 1]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([large]);
  });

  test.each([small, large])("in a short wait, it starts when it is due and not before", async (input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input, delay_seconds: 600 });
    await pipeline.clock.advance(100_000);
    await changePriority(pipeline.ports, record, "high");
    await pipeline.clock.advance(499_000);
    for (const tier of ["low", "high"] as const) await pipeline.work(tier);
    expect(pipeline.ran).toEqual([]);
    await pipeline.clock.advance(1_000);
    for (const tier of ["low", "high"] as const) await pipeline.work(tier);
    expect(pipeline.ran).toEqual([input]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority: "high" });
  });

  test("between two attempts, the next one runs in the new tier", async () => {
    let fails = 1;
    const pipeline = setUp({}, () => (fails-- > 0 ? Promise.reject(new Error("no")) : "result"));
    const record = await pipeline.accept({ input: small });
    await pipeline.work("low");
    const moved = await changePriority(pipeline.ports, await pipeline.recordOf(record), "high");
    expect(moved).toMatchObject({ status: "pending", attempts: 1 });
    expect(waiting(pipeline, "high")).toBe(1);
    await pipeline.clock.advance(Date.parse(moved.due_at) - pipeline.clock.now());
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 2 });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([small, small]);
  });

  test("after a crash, it runs alone in the new tier too", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: large });
    await pipeline.records.change(record, { when: {}, set: { error_kind: "crashed" } });
    await changePriority(pipeline.ports, record, "high");
    expect(await pipeline.work("low")).toEqual(["done"]);
    expect(pipeline.queues.waiting("high")).toMatchObject([{ solo: true }]);
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
  });

  test("a task that sleeps goes on in the new tier", async () => {
    const pipeline = setUp({}, async (_, task) => {
      await task.sleep(60);
      return "slept";
    });
    const record = await pipeline.accept({ input: small });
    await pipeline.work("low");
    expect(await changePriority(pipeline.ports, await pipeline.recordOf(record), "high")).toMatchObject({
      waiting_for: { kind: "sleep" },
    });
    await pipeline.clock.advance(61_000);
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: "slept" });
  });

  test.each([small, large])("a task that waits for a signal goes on in the new tier when that comes", async (input) => {
    const pipeline = setUp({}, (_, task) => task.waitFor("paid", { timeoutSeconds: 86_400 }));
    const record = await pipeline.accept({ input });
    await pipeline.work("low");
    const moved = await changePriority(pipeline.ports, await pipeline.recordOf(record), "high");
    expect(moved).toMatchObject({ waiting_for: { kind: "signal" } });
    expect(waiting(pipeline, "high")).toBe(0);
    await signal(pipeline.ports, moved, "paid", { by: "card" });
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", result: { by: "card" } });
  });

  test("a parent moves before its children and for the attempt that aggregates, not while they are open", async () => {
    const child = defineTask({ name: "child", input: z.unknown(), priority: "normal", handler: () => "child" });
    const parent = defineTask({
      name: "parent",
      input: z.unknown(),
      priority: "low",
      children: { threshold: 1 },
      aggregate: () => "all",
      handler: async (_, task) => {
        await task.spawn(child, null);
      },
    });
    const pipeline = memoryPipeline([parent, child]);
    const record = await pipeline.accept({ input: large });
    await changePriority(pipeline.ports, record, "high");
    await pipeline.work("low");
    await pipeline.work("high");
    const open = await pipeline.recordOf(record);
    expect(open).toMatchObject({ status: "processing", family_state: "waiting" });
    await expect(changePriority(pipeline.ports, open, "critical")).rejects.toMatchObject({ code: "conflict" });
    // The child keeps its tier.
    expect(waiting(pipeline, "normal")).toBe(1);
    await pipeline.work("normal");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending", family_state: "closing" });
    await changePriority(pipeline.ports, await pipeline.recordOf(record), "critical");
    await pipeline.work("critical");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority: "critical" });
    await pipeline.drain();
  });

  test("a failed task that was retried has its envelope beside its record, so it moves immediately", async () => {
    let fails = 1;
    const pipeline = setUp({ maxAttempts: 1 }, () => (fails-- > 0 ? Promise.reject(new Error("no")) : "result"));
    const record = await pipeline.accept({ input: large });
    await pipeline.work("low");
    const retried = await retry(pipeline.ports, await pipeline.recordOf(record));
    await changePriority(pipeline.ports, retried, "high");
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", round: 2 });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([large, large]);
  });

  test("an envelope that an earlier task with the same id left is not sent", async () => {
    const pipeline = setUp();
    const key = { idempotencyKey: "again" };
    const body = { input: large, delay_seconds: 1_000, retention_seconds: 60 };
    await pipeline.accept(body, key);
    await pipeline.drain();
    await pipeline.clock.advance(30 * 86_400_000);
    const record = await pipeline.accept({ input: { ...large, second: true } }, key);
    await changePriority(pipeline.ports, record, "high");
    expect(waiting(pipeline, "high")).toBe(0);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([large, { ...large, second: true }]);
  });
});

describe("refusals", () => {
  const refusal = async (pipeline: Pipeline, record: TaskRecord, tier: Tier = "high") => {
    const before = await pipeline.recordOf(record);
    await expect(changePriority(pipeline.ports, record, tier)).rejects.toMatchObject({ code: "conflict" });
    expect(await pipeline.recordOf(record)).toEqual(before);
  };

  test("a task that runs keeps its tier", async () => {
    const open = gate<string>();
    const pipeline = setUp({}, () => open.opened);
    const record = await pipeline.accept({ input: small });
    const working = pipeline.work("low");
    await pipeline.clock.advance(0);
    await refusal(pipeline, record);
    await refusal(pipeline, record, "low");
    open.open("result");
    await working;
    expect(waiting(pipeline, "high")).toBe(0);
  });

  test("so does a completed, a failed and a cancelled one", async () => {
    const pipeline = setUp({ maxAttempts: 1 }, (input) => (input === 0 ? Promise.reject(new Error("no")) : "result"));
    const [completed, failed] = [await pipeline.accept({ input: 1 }), await pipeline.accept({ input: 0 })];
    await pipeline.drain();
    const cancelled = await cancel(pipeline.ports, await pipeline.accept({ input: 2 }));
    for (const record of [completed, failed, cancelled]) await refusal(pipeline, record);
  });

  test("so does one that has expired, although no worker has seen it yet", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ expires_in_seconds: 10 });
    await pipeline.clock.advance(10_000);
    await refusal(pipeline, record);
    await refusal(pipeline, record, "low");
  });

  test("a task whose record was purged meanwhile does not exist", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept();
    await pipeline.records.change(record, { when: {}, set: { purge_at: 0 } });
    await expect(changePriority(pipeline.ports, record, "high")).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("deaths and repeats", () => {
  test.each([small, large])("a process that dies before it sends loses nothing: a repeat heals it", async (input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input });
    const send = vi.spyOn(pipeline.queues, "send").mockRejectedValue(new PortUnavailable("the queue"));
    const first = changePriority(pipeline.ports, record, "high");
    if (input === small) await expect(first).rejects.toThrow(PortUnavailable);
    else await first;
    send.mockRestore();
    expect(await pipeline.recordOf(record)).toMatchObject({ priority: "high" });
    await changePriority(pipeline.ports, record, "high");
    expect(waiting(pipeline, "high")).toBe(input === small ? 1 : 0);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([input]);
  });

  test.each([small, large])("without a repeat, the old tier's worker heals it", async (input) => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input });
    // All that the dead process did.
    await pipeline.records.change(record, { when: {}, set: { priority: "high" } });
    await pipeline.drain();
    expect(pipeline.ran).toEqual([input]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority: "high" });
  });

  test("a message that cannot be sent on stays in the old tier", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: large });
    await changePriority(pipeline.ports, record, "high");
    vi.spyOn(pipeline.queues, "send").mockRejectedValueOnce(new PortUnavailable("the queue"));
    expect(await pipeline.work("low")).toEqual(["again"]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([large]);
  });

  test("a worker that dies after it sent the message on leaves a twin, and the task runs once", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: large });
    const [message] = pipeline.queues.waiting("low");
    await changePriority(pipeline.ports, record, "high");
    await pipeline.work("low");
    pipeline.queues.put("low", message?.body ?? "");
    await pipeline.drain();
    expect(pipeline.ran).toEqual([large]);
  });

  test("the same tier again changes nothing, and each call sends at most one message", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: small });
    await pipeline.clock.advance(5_000);
    for (let call = 1; call <= 3; call++) {
      expect(await changePriority(pipeline.ports, record, "low")).toEqual(record);
      expect(waiting(pipeline, "low")).toBe(1 + call);
    }
    await pipeline.drain();
    expect(pipeline.ran).toEqual([small]);
  });

  test("two calls at once, for two tiers, leave one of them", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: small });
    const tiers = await Promise.all([
      changePriority(pipeline.ports, record, "high"),
      changePriority(pipeline.ports, record, "critical"),
    ]);
    const { priority } = await pipeline.recordOf(record);
    expect(tiers.map((one) => one.priority)).toContain(priority);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([small]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority });
  });

  test("a claim and a change at once: either the task runs in its old tier, or it waits in the new one", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: small });
    const [, moved] = await Promise.allSettled([pipeline.work("low"), changePriority(pipeline.ports, record, "high")]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([small]);
    const tier = moved.status === "fulfilled" ? "high" : "low";
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority: tier });
  });
});

describe("the kept input", () => {
  test("an input of up to 256 bytes is kept until the first attempt", async () => {
    const pipeline = setUp();
    const tags = { note: "x".repeat(170) };
    const fits = await pipeline.accept({ input: "ä".repeat(127), tags });
    const over = await pipeline.accept({ input: `${"ä".repeat(127)}x`, tags });
    expect(fits.kept_input).toBe(`{"input":"${"ä".repeat(127)}"}`);
    expect(over).not.toHaveProperty("kept_input");
    await pipeline.work("low");
    expect(await pipeline.recordOf(fits)).not.toHaveProperty("kept_input");
  });

  test("it is not kept in a record that is large already", async () => {
    const pipeline = setUp();
    expect(
      await pipeline.accept({ input: small, tags: { note: "x".repeat(256), more: "x".repeat(256) } }),
    ).not.toHaveProperty("kept_input");
  });

  test("a reference to an input in the bucket is kept in any record", async () => {
    const pipeline = setUp({ sensitive: true });
    const { kept_input } = await pipeline.accept({
      input: huge,
      tags: { note: "x".repeat(256), more: "x".repeat(200) },
    });
    expect(JSON.parse(kept_input ?? "")).toEqual({ input_ref: expect.objectContaining({ bytes: 50_011 }) });
  });

  test("an input of a sensitive type is never kept, not even by a retry", async () => {
    const pipeline = setUp({ sensitive: true }, () => Promise.reject(new Error("no")));
    const record = await pipeline.accept({ input: small });
    expect(record).not.toHaveProperty("kept_input");
    await changePriority(pipeline.ports, record, "high");
    await emptied(pipeline, "low");
    await pipeline.work("high");
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending", attempts: 1 });
    expect(await pipeline.recordOf(record)).not.toHaveProperty("kept_input");
  });

  test("a smaller one stays, also while an attempt runs and after the end", async () => {
    const running = gate();
    const pipeline = setUp({}, () => running.opened);
    const record = await pipeline.accept({ input: small });
    const text = JSON.stringify({ input: small });
    expect(record.shown_input).toBe(text);
    const working = pipeline.work("low");
    await pipeline.clock.advance(0);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "processing", shown_input: text });
    running.open();
    await working;
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", shown_input: text });
  });

  test("one stays beside the result only if the record needs no more write units for it", async () => {
    const stays = async (bytes: number) => {
      const pipeline = setUp({}, () => "r".repeat(bytes));
      const record = await pipeline.accept({ input: "x".repeat(140) });
      await pipeline.work("low");
      return Object.hasOwn(await pipeline.recordOf(record), "shown_input");
    };
    const sizes = Array.from({ length: 32 }, (_, index) => 200 + index * 32);
    const outcomes = await Promise.all(sizes.map(stays));
    // The input takes about 150 bytes of each unit of 1,024.
    const gone = outcomes.filter((outcome) => !outcome).length;
    expect(gone).toBeGreaterThanOrEqual(4);
    expect(gone).toBeLessThanOrEqual(6);
  });

  test("each way to end without an attempt removes it", async () => {
    const pipeline = setUp();
    const cancelled = await cancel(pipeline.ports, await pipeline.accept({ input: middle }));
    const expired = await pipeline.accept({ input: middle, expires_in_seconds: 10 });
    await pipeline.clock.advance(10_000);
    await pipeline.work("low");
    const lost = await pipeline.accept({ input: middle });
    for (let round = 0; round < 4; round++) await pipeline.redrive("low");
    expect(cancelled).not.toHaveProperty("kept_input");
    const ends = [await pipeline.recordOf(expired), await pipeline.recordOf(lost)];
    expect(ends).toMatchObject([{ status: "expired" }, { status: "failed", error_type: "Undeliverable" }]);
    for (const end of ends) expect(end).not.toHaveProperty("kept_input");
  });

  test("no view, log line or notice has it", async () => {
    const pipeline = setUp();
    const record = await pipeline.accept({ input: { pin: "pin0815" }, callback: { url: "https://example.com/hook" } });
    expect(record.kept_input ?? record.shown_input).toContain("pin0815");
    await changePriority(pipeline.ports, record, "high");
    const view = viewOf(await pipeline.recordOf(record), iso(pipeline.clock.now()));
    await pipeline.drain();
    const seen = JSON.stringify([view, pipeline.log.lines, pipeline.notices]);
    expect(seen).not.toContain("pin0815");
    expect(pipeline.log.lines).toContainEqual(
      expect.objectContaining({ message: "task moved", fields: expect.objectContaining({ moved_from: "low" }) }),
    );
  });
});

describe("a task of a paused tier", () => {
  /** A pipeline whose tier low is paused, with a worker's knowledge of it. */
  async function paused(more: Partial<TaskType> = {}) {
    const pipeline = setUp(more);
    await pipeline.flowSettings.put({ kind: "pause", name: "pause/tier/low", since: iso(0), by: "olga" });
    return pipeline;
  }

  test.each([
    ["small", small, {}],
    ["larger", large, {}],
    ["in the bucket", huge, {}],
    ["of a sensitive type", large, { sensitive: true }],
  ])("leaves its line at once, with an input that is %s", async (_, input, more) => {
    const pipeline = await paused(more);
    const record = await pipeline.accept({ input });
    await pipeline.work("low");
    expect(await pipeline.recordOf(record)).toMatchObject({ line: "pause/tier/low" });
    await changePriority(pipeline.ports, await pipeline.recordOf(record), "critical");
    expect(await pipeline.lines.first("pause/tier/low", 1)).toEqual([]);
    await pipeline.work("critical");
    expect(pipeline.ran).toEqual([input]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", priority: "critical" });
  });

  test("that was put off for longer than a message can wait leaves it, too, and runs when it is due", async () => {
    const pipeline = await paused();
    const unique = { key: "k", mode: "debounce", wait_seconds: 1, max_wait_seconds: 86_400 } as const;
    const record = await pipeline.accept({ input: small, unique });
    await pipeline.clock.advance(1_000);
    await pipeline.work("low");
    await pipeline.accept({ input: large, unique: { ...unique, wait_seconds: 1_200 } });
    const parked = await pipeline.recordOf(record);
    expect(parked).toMatchObject({ line: "pause/tier/low", due_at: iso(pipeline.clock.now() + 1_200_000) });
    await changePriority(pipeline.ports, parked, "critical");
    expect(await pipeline.lines.first("pause/tier/low", 1)).toEqual([]);
    await pipeline.clock.advance(1_200_000);
    await pipeline.fire();
    await pipeline.work("critical");
    expect(pipeline.ran).toEqual([large]);
  });

  test("that a worker is putting into the line goes on all the same", async () => {
    const pipeline = await paused();
    const record = await pipeline.accept({ input: large });
    const add = pipeline.lines.add.bind(pipeline.lines);
    vi.spyOn(pipeline.lines, "add").mockImplementationOnce(async (...given) => {
      await changePriority(pipeline.ports, await pipeline.recordOf(record), "critical");
      await add(...given);
    });
    await pipeline.work("low");
    await pipeline.work("critical");
    expect(pipeline.ran).toEqual([large]);
    expect(await pipeline.lines.first("pause/tier/low", 1)).toEqual([]);
  });

  test("whose pause stops it in its new tier, too, waits there", async () => {
    const pipeline = await paused();
    const record = await pipeline.accept({ input: large });
    await pipeline.work("low");
    await pipeline.flowSettings.put({ kind: "pause", name: "pause/tier/critical", since: iso(0), by: "olga" });
    pipeline.flow.forget();
    await changePriority(pipeline.ports, await pipeline.recordOf(record), "critical");
    await pipeline.work("critical");
    expect(pipeline.ran).toEqual([]);
    expect(await pipeline.recordOf(record)).toMatchObject({ line: "pause/tier/critical" });
    await pipeline.flowSettings.remove("pause/tier/critical");
    pipeline.flow.forget();
    await changePriority(pipeline.ports, await pipeline.recordOf(record), "critical");
    await pipeline.work("critical");
    expect(pipeline.ran).toEqual([large]);
  });
});
