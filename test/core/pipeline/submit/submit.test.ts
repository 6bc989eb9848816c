import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { runNow } from "../../../../src/core/control/run-now.ts";
import { inputOf } from "../../../../src/core/control/stored-parts.ts";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { parseEnvelope } from "../../../../src/core/model/read-envelope.ts";
import { isKept, iso } from "../../../../src/core/model/record.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import { operator, submitter } from "../../../support/identities.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { newRecord } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";

const down = () => new PortUnavailable("the queue");

/** The envelopes that wait in a tier. */
function envelopes(
  pipeline: ReturnType<typeof memoryPipeline>,
  tier: "critical" | "high" | "normal" | "low" = "normal",
) {
  return pipeline.queues.waiting(tier).map(({ body }) => {
    const parsed = parseEnvelope(body);
    if (!parsed.ok) throw new Error(parsed.reason);
    return parsed.envelope;
  });
}

describe("an accepted task", () => {
  test("an accepted task has a record with the contract's defaults", async () => {
    const { clock, accept, records } = memoryPipeline();
    const record = await accept();
    const now = iso(clock.now());
    expect(await records.get(record)).toEqual({
      tenant_id: "acme",
      task_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: "echo",
      priority: "normal",
      status: "pending",
      requested_by: "olga",
      correlation_id: "corr-1",
      shown_input: '{"input":{"value":null}}',
      request_hash: expect.stringMatching(/^\S{27}$/),
      created_at: now,
      updated_at: now,
      round: 1,
      attempts: 0,
      attempts_total: 0,
      max_attempts: 5,
      due_at: now,
      retention_seconds: 604_800,
      history: [],
      purge_at: clock.now() / 1000 + 14 * 86_400 + 604_800,
    });
  });

  test("an accepted task has one message, with all that a worker needs", async () => {
    const pipeline = memoryPipeline();
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const record = await pipeline.accept({ input: { value: [1] } }, { traceparent });
    expect(envelopes(pipeline)).toEqual([
      {
        schema_version: "1.0",
        message_id: expect.stringMatching(/\S/),
        task_id: record.task_id,
        type: "echo",
        tenant_id: "acme",
        requested_by: "olga",
        correlation_id: "corr-1",
        traceparent,
        enqueued_at: record.created_at,
        max_attempts: 5,
        input: { value: [1] },
      },
    ]);
  });

  test("an accepted task keeps every option", async () => {
    const pipeline = memoryPipeline();
    const { clock } = pipeline;
    const expiresAt = iso(clock.now() + 660_000);
    const record = await pipeline.accept({
      priority: "critical",
      max_attempts: 2,
      delay_seconds: 60,
      expires_in_seconds: 600,
      retention_seconds: 60,
      tags: { "a.b-c_1": "x" },
    });
    expect(record).toMatchObject({
      priority: "critical",
      max_attempts: 2,
      run_at: iso(clock.now() + 60_000),
      due_at: iso(clock.now() + 60_000),
      expires_at: expiresAt,
      start_by: expiresAt,
      retention_seconds: 60,
      tags: { "a.b-c_1": "x" },
      purge_at: clock.now() / 1000 + 60 + 14 * 86_400 + 60,
    });
    expect(envelopes(pipeline, "critical")).toMatchObject([{ max_attempts: 2 }]);
  });

  test("tier and attempts come from the type by default", async () => {
    const type = typeOf(() => null, { priority: "low", maxAttempts: 9 });
    expect(await memoryPipeline([type]).accept()).toMatchObject({ priority: "low", max_attempts: 9 });
  });

  test("a task is in the submitter's own list only if a submitter submitted it", async () => {
    const { accept } = memoryPipeline();
    expect(await accept({}, { identity: submitter })).toMatchObject({ requested_by: "sam", own_list: true });
    expect(await accept()).not.toHaveProperty("own_list");
  });

  test("a task names its schedule or parent", async () => {
    const { accept } = memoryPipeline();
    const schedule = { scheduleId: "s", scheduledFor: "2027-01-01T00:00:00.000Z" };
    expect(await accept({}, { schedule, parentId: "p" })).toMatchObject({
      schedule_id: "s",
      scheduled_for: "2027-01-01T00:00:00.000Z",
      parent_id: "p",
    });
  });

  test("a task with empty tags stores no tags", async () => {
    expect(await memoryPipeline().accept({ tags: {} })).not.toHaveProperty("tags");
  });

  test("a task without an input gets none, so that the default of its type counts", async () => {
    const seen: unknown[] = [];
    const input = z.object({ to: z.string() }).default({ to: "ada" });
    const pipeline = memoryPipeline([typeOf((given) => void seen.push(given), { input })]);
    const record = await pipeline.accept({ input: undefined });
    expect(envelopes(pipeline)[0]).not.toHaveProperty("input");
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
    expect(seen).toEqual([{ to: "ada" }]);
  });

  test("a task without an input that waits has none when it is run now", async () => {
    const seen: unknown[] = [];
    const input = z.object({ to: z.string() }).optional();
    const pipeline = memoryPipeline([typeOf((given) => void seen.push(given), { input })]);
    const record = await pipeline.accept({ input: undefined, delay_seconds: 600 });
    expect(await inputOf(pipeline.ports, record, false)).toEqual({ input: null });
    await runNow(pipeline.ports, record);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed" });
    expect(seen).toEqual([undefined]);
  });
});

describe("a time to run at", () => {
  test("a time in the past means now", async () => {
    const pipeline = memoryPipeline();
    const record = await pipeline.accept({ run_at: "2020-01-01T00:00:00Z" });
    expect(record).toMatchObject({ run_at: "2020-01-01T00:00:00.000Z", due_at: record.created_at });
    expect(pipeline.queues.waiting("normal")).toMatchObject([{ visibleAt: pipeline.clock.now() }]);
  });

  test("a time may be in any zone", async () => {
    const { accept } = memoryPipeline();
    expect(await accept({ run_at: "2027-06-01T12:00:00+02:00" })).toMatchObject({ run_at: "2027-06-01T10:00:00.000Z" });
  });

  test("a delay within 15 minutes is left to SQS, and a later one to a one-off", async () => {
    const near = memoryPipeline();
    await near.accept({ delay_seconds: 900 });
    expect([near.queues.waiting("normal").length, near.oneOffs.all().size]).toEqual([1, 0]);
    const far = memoryPipeline();
    await far.accept({ delay_seconds: 901 });
    expect([far.queues.waiting("normal").length, far.oneOffs.all().size]).toEqual([0, 1]);
  });
});

describe("a request that is refused", () => {
  const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`t${index}`, ""]));
  const value = { input: { value: 1 } };

  test.each([
    ["no type", { type: undefined }, "/type"],
    ["a type that is no text", { type: 7 }, "/type"],
    ["an unknown field", { hue: "blue" }, "/hue"],
    ["an unknown tier", { priority: "urgent" }, "/priority"],
    ["a negative delay", { delay_seconds: -1 }, "/delay_seconds"],
    ["a delay of more than a year", { delay_seconds: 31_536_001 }, "/delay_seconds"],
    ["a delay that is no whole number", { delay_seconds: 1.5 }, "/delay_seconds"],
    ["a time that is none", { run_at: "tomorrow" }, "/run_at"],
    ["a day without a time", { run_at: "2027-01-01" }, "/run_at"],
    ["both a delay and a time", { delay_seconds: 1, run_at: "2027-01-01T00:00:00Z" }, "/run_at"],
    ["no attempts", { max_attempts: 0 }, "/max_attempts"],
    ["too many attempts", { max_attempts: 21 }, "/max_attempts"],
    ["an expiry in no time", { expires_in_seconds: 0 }, "/expires_in_seconds"],
    ["an expiry after more than 14 days", { expires_in_seconds: 1_209_601 }, "/expires_in_seconds"],
    ["too short a retention", { retention_seconds: 59 }, "/retention_seconds"],
    ["too long a retention", { retention_seconds: 2_592_001 }, "/retention_seconds"],
    ["a tag whose name is too long", { tags: { ["x".repeat(65)]: "" } }, `/tags/${"x".repeat(65)}`],
    ["a tag in capitals", { tags: { A: "" } }, "/tags/A"],
    ["a tag that is no text", { tags: { a: 1 } }, "/tags/a"],
    ["a tag that is too long", { tags: { a: "x".repeat(257) } }, "/tags/a"],
    ["more than ten tags", { tags: tags(11) }, "/tags"],
    ["an input that does not fit", { input: { value: 1, more: 2 } }, "/input/more"],
    ["no input where one is needed", { input: undefined }, "/input"],
  ])("a request with %s is refused, and stores nothing", async (_, body, path) => {
    const { accept, records, queues } = memoryPipeline();
    await expect(accept({ ...value, ...body })).rejects.toMatchObject({
      code: "invalid_input",
      options: { errors: [{ path }] },
    });
    expect([records.all(), queues.waiting("normal")]).toEqual([[], []]);
  });

  test.each([
    ["the most of everything", { delay_seconds: 31_536_000, max_attempts: 20, expires_in_seconds: 1_209_600 }],
    ["the least of everything", { delay_seconds: 0, max_attempts: 1, expires_in_seconds: 1, retention_seconds: 60 }],
    ["ten tags", { tags: tags(10) }],
    ["tags of full length", { tags: { ["x".repeat(64)]: "x".repeat(256) } }],
  ])("a request with %s is accepted", async (_, body) => {
    expect(await memoryPipeline().accept({ ...value, ...body })).toMatchObject({ status: "pending" });
  });

  test("a time that does not exist is refused", async () => {
    await expect(memoryPipeline().accept({ run_at: "2027-02-30T00:00:00Z" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  test("a time without a zone is refused", async () => {
    await expect(memoryPipeline().accept({ run_at: "2027-06-01T12:00:00" })).rejects.toMatchObject({
      code: "invalid_input",
    });
  });

  test("an unknown type is refused by its name", async () => {
    await expect(memoryPipeline().accept({ type: "nope" })).rejects.toMatchObject({
      code: "unknown_task_type",
      detail: 'type: no task type is named "nope". GET /types lists the task types.',
      options: { errors: [{ path: "/type" }] },
    });
  });

  test.each(["no object", 7, null, undefined, []])("%j is refused as it is not an object", async (body) => {
    const { ports } = memoryPipeline();
    const call = { identity: operator, body, correlationId: "c" };
    await expect(submit(ports, call)).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("an input whose message would be larger than 48 KiB, counted in bytes, goes to the bucket", async () => {
    const pipeline = memoryPipeline();
    await pipeline.accept({ input: { value: "x".repeat(48_000) } });
    await pipeline.accept({ input: { value: "ä".repeat(25_000) } });
    // The message has six bytes for each, as an escape.
    await pipeline.accept({ input: { value: "\uffff".repeat(8_500) } });
    expect(envelopes(pipeline).map(({ input, input_ref }) => [input === undefined, input_ref?.bytes])).toEqual([
      [false, undefined],
      [true, 50_012],
      [true, 25_512],
    ]);
  });

  test("an input of more than 1 MiB is refused, and nothing is written", async () => {
    const { accept, records, queues } = memoryPipeline();
    const value = "x".repeat(1024 * 1024);
    await expect(accept({ input: { value } })).rejects.toMatchObject({ code: "too_large" });
    expect([records.all().length, queues.waiting("normal").length]).toEqual([0, 0]);
  });

  test("an input is checked by the type's schema, also where its transforms change the input", async () => {
    const type = typeOf(() => null, { input: z.object({ at: z.string().transform((text) => new Date(text)) }) });
    const pipeline = memoryPipeline([type]);
    await pipeline.accept({ input: { at: "2027-01-01" } });
    expect(envelopes(pipeline)[0]?.input).toEqual({ at: "2027-01-01" });
    await expect(pipeline.accept({ input: { at: 7 } })).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("an idempotency key", () => {
  const call = { idempotencyKey: "key-1" };

  const submitted = async (pipeline: ReturnType<typeof memoryPipeline>, body: object, more: object = {}) =>
    submit(pipeline.ports, { identity: operator, body, correlationId: "c", ...call, ...more });

  test("the same key and request return the same task with its present status", async () => {
    const pipeline = memoryPipeline();
    const body = { type: "echo", input: { value: { a: 1, b: 2 } }, tags: { x: "1", y: "2" } };
    const first = await submitted(pipeline, body);
    await pipeline.drain();
    const reordered = { tags: { y: "2", x: "1" }, input: { value: { b: 2, a: 1 } }, type: "echo" };
    const second = await submitted(pipeline, reordered);
    expect([first.replayed, second.replayed]).toEqual([false, true]);
    expect(second.record).toMatchObject({ task_id: first.record.task_id, status: "completed" });
    expect(pipeline.queues.waiting("normal")).toEqual([]);
  });

  test.each([
    ["another input", { input: { value: 2 } }],
    ["another option", { max_attempts: 3 }],
    ["an option more", { tags: { a: "b" } }],
  ])("the same key with %s is refused, and the problem names the key's task", async (_, more) => {
    const pipeline = memoryPipeline();
    const body = { type: "echo", input: { value: 1 } };
    const { record } = await submitted(pipeline, body);
    await expect(submitted(pipeline, { ...body, ...more })).rejects.toMatchObject({
      code: "idempotency_key_reused",
      options: { extra: { task_id: record.task_id } },
    });
    expect(pipeline.records.all()).toHaveLength(1);
  });

  test("the same key of another tenant or principal, and another key, make other tasks", async () => {
    const pipeline = memoryPipeline();
    const body = { type: "echo", input: { value: 1 } };
    const callers = [
      {},
      { identity: { ...operator, tenantId: "globex" } },
      { identity: { ...operator, principal: "otto" } },
      { idempotencyKey: "key-2" },
      { idempotencyKey: undefined },
    ];
    const accepted = await Promise.all(callers.map((more) => submitted(pipeline, body, more)));
    expect(new Set(accepted.map(({ record }) => record.task_id)).size).toBe(callers.length);
    expect(accepted.every(({ replayed }) => !replayed)).toBe(true);
  });

  test("the same key used fifty times at the same time makes one task", async () => {
    const pipeline = memoryPipeline();
    const body = { type: "echo", input: { value: 1 } };
    const accepted = await Promise.all(Array.from({ length: 50 }, () => submitted(pipeline, body)));
    expect(new Set(accepted.map(({ record }) => record.task_id)).size).toBe(1);
    expect(accepted.filter(({ replayed }) => !replayed)).toHaveLength(1);
    await pipeline.drain();
    expect(pipeline.records.all()).toMatchObject([{ status: "completed", attempts_total: 1 }]);
  });

  test("a repeat after a crash between record and message sends the message", async () => {
    const pipeline = memoryPipeline();
    const body = { type: "echo", input: { value: 1 }, priority: "high" };
    vi.spyOn(pipeline.queues, "send").mockRejectedValueOnce(down());
    await expect(submitted(pipeline, body)).rejects.toMatchObject({ code: "unavailable" });
    expect(pipeline.queues.waiting("high")).toEqual([]);
    const { record, replayed } = await submitted(pipeline, body);
    expect(replayed).toBe(true);
    expect(envelopes(pipeline, "high")).toMatchObject([{ task_id: record.task_id }]);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts_total: 1 });
  });

  test("repeats into a backlog send one more message in a minute, and then one again", async () => {
    const { accept, queues, clock, records } = memoryPipeline();
    const repeat = () => accept({}, { idempotencyKey: "again" });
    for (let times = 0; times < 6; times++) await repeat();
    expect(queues.waiting("normal")).toHaveLength(2);
    await clock.advance(61_000);
    for (let times = 0; times < 6; times++) await repeat();
    expect(queues.waiting("normal")).toHaveLength(3);
    expect(records.all()).toHaveLength(1);
  });

  test("a repeat after the task started sends nothing", async () => {
    const pipeline = memoryPipeline([typeOf(() => Promise.reject(new Error("no")))]);
    const body = { type: "test.task" };
    await submitted(pipeline, body);
    await pipeline.work();
    const waiting = pipeline.queues.waiting("normal").length;
    expect(await submitted(pipeline, body)).toMatchObject({
      replayed: true,
      record: { status: "pending", attempts: 1 },
    });
    expect(pipeline.queues.waiting("normal")).toHaveLength(waiting);
  });

  test("a key lives as long as the record", async () => {
    const pipeline = memoryPipeline();
    const body = { type: "echo", input: { value: 1 }, retention_seconds: 60 };
    const first = await submitted(pipeline, body);
    await pipeline.drain();
    await pipeline.clock.advance(59_000);
    expect(await submitted(pipeline, body)).toMatchObject({ replayed: true });
    await pipeline.clock.advance(1_000);
    const second = await submitted(pipeline, body);
    expect(second).toMatchObject({ replayed: false, record: { task_id: first.record.task_id, status: "pending" } });
  });
});

describe("while a port is down", () => {
  test("a task is not accepted when it cannot be recorded", async () => {
    const pipeline = memoryPipeline();
    vi.spyOn(pipeline.records, "create").mockRejectedValueOnce(down());
    await expect(pipeline.accept()).rejects.toMatchObject({ code: "unavailable", options: { retryAfterSeconds: 5 } });
    expect(pipeline.queues.waiting("normal")).toEqual([]);
  });

  test("a record whose message could not be sent counts as never made", async () => {
    const pipeline = memoryPipeline();
    vi.spyOn(pipeline.queues, "send").mockRejectedValueOnce(down());
    await expect(pipeline.accept()).rejects.toMatchObject({ code: "unavailable" });
    expect(pipeline.records.all().map((record) => isKept(record, pipeline.clock.now()))).toEqual([false]);
  });

  test("a message that was sent after all changes nothing", async () => {
    const handler = vi.fn();
    const pipeline = memoryPipeline([typeOf(handler)]);
    const send = pipeline.queues.send.bind(pipeline.queues);
    vi.spyOn(pipeline.queues, "send").mockImplementationOnce(async (message) => {
      await send(message);
      throw down();
    });
    await expect(pipeline.accept()).rejects.toMatchObject({ code: "unavailable" });
    expect(await pipeline.work()).toEqual(["done"]);
    expect(handler).not.toHaveBeenCalled();
  });

  test("an unexpected error is thrown as it is", async () => {
    const pipeline = memoryPipeline();
    vi.spyOn(pipeline.records, "create").mockRejectedValueOnce(new TypeError("oops"));
    await expect(pipeline.accept()).rejects.toThrow(new TypeError("oops"));
  });
});

test("a record is kept until its purge time, and no longer", () => {
  const record = newRecord({ purge_at: 100 });
  expect([99_999, 100_000, 100_001].map((now) => isKept(record, now))).toEqual([true, false, false]);
});
