import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  AttemptTimedOut,
  BusinessRuleViolation,
  PermanentError,
  PortUnavailable,
  RetryAfter,
  Unavailable,
} from "../../../../src/core/model/errors.ts";
import { parseDeadLetter } from "../../../../src/core/model/read-envelope.ts";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { followUp } from "../../../../src/core/pipeline/end/follow-up.ts";
import type { Ended } from "../../../../src/core/pipeline/work/attempt.ts";
import { packResult } from "../../../../src/core/pipeline/work/pack-result.ts";
import { settle, settleCrashed } from "../../../../src/core/pipeline/work/settle.ts";
import type { SettlePorts } from "../../../../src/core/ports/extra.ts";
import { file, largestResultBytes, recordResultBytes, withOutcome } from "../../../../src/core/task/result.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import type { PipelineOptions } from "../../../support/pipeline-ports.ts";
import { envelopeOf, newRecord } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";

interface Options extends PipelineOptions {
  record?: Partial<TaskRecord>;
  type?: Partial<TaskType>;
}

/** An attempt that runs since two seconds. */
async function running({ record: more, type: typeMore, ...options }: Options = {}) {
  const type = typeOf(() => null, typeMore);
  const pipeline = memoryPipeline([type], options);
  const { clock } = pipeline;
  const record = newRecord({
    type: type.name,
    status: "processing",
    attempts: 1,
    attempts_total: 1,
    started_at: iso(clock.now()),
    lease_until: iso(clock.now() + 30_000),
    progress: 50,
    ...more,
  });
  await pipeline.records.create(record, iso(clock.now()));
  await clock.advance(2_000);
  const envelope = envelopeOf(record);
  const end = (ended: Ended, ports: SettlePorts = pipeline.ports) => settle(ports, { record, envelope, type }, ended);
  const endOf = (value: unknown): Promise<Ended> =>
    packResult(pipeline.ports, record, type, value).then(
      (packed): Ended => ({ how: "returned", packed }),
      (error: unknown): Ended => ({ how: "threw", error }),
    );
  const returned = async (value: unknown) => end(await endOf(value));
  const threw = (error: unknown) => end({ how: "threw", error });
  return { ...pipeline, type, record, envelope, now: iso(clock.now()), end, returned, threw };
}

const earlier = (kind: "conflict" | "transient" | "crashed") =>
  ({
    round: 1,
    number: 1,
    started_at: "2027-01-01T00:00:00.000Z",
    finished_at: "2027-01-01T00:00:01.000Z",
    outcome: "retried",
    error_kind: kind,
  }) as const;

describe("an attempt that returned", () => {
  test("the task completes, with its result, its attempt and its retention", async () => {
    const { returned, recordOf, record, now, queues, envelope } = await running({
      record: { error: "old", error_type: "Error", error_kind: "transient", needs_review: true },
    });
    const settled = await returned({ a: 1 });
    const { lease_until, error, error_type, error_kind, needs_review, ...rest } = record;
    const expected = {
      ...rest,
      status: "completed",
      updated_at: now,
      finished_at: now,
      retained_until: "2027-01-08T00:00:02.000Z",
      purge_at: Date.parse("2027-01-08T00:00:02.000Z") / 1000,
      result: { a: 1 },
      shown_input: JSON.stringify({ input: envelope.input }),
      history: [{ round: 1, number: 1, started_at: record.started_at, finished_at: now, outcome: "completed" }],
    };
    expect(settled).toEqual({ as: "completed", record: expected });
    expect(await recordOf(record)).toEqual(expected);
    expect(queues.waiting("normal")).toEqual([]);
  });

  test("the end of an attempt is one change, and nothing else", async () => {
    const { returned, records } = await running();
    const change = vi.spyOn(records, "change");
    const savePart = vi.spyOn(records, "savePart");
    await returned({ a: 1 });
    expect([change.mock.calls.length, savePart.mock.calls.length]).toEqual([1, 0]);
  });

  test("an outcome is kept beside the result", async () => {
    const { returned, recordOf, record } = await running();
    await returned(withOutcome("OVER_CAPACITY", { free: 0 }));
    expect(await recordOf(record)).toMatchObject({ outcome: "OVER_CAPACITY", result: { free: 0 } });
  });

  test.each([
    [undefined, null],
    [null, null],
    [0, 0],
    ["", ""],
    [[], []],
    [{ at: new Date(0), gone: undefined }, { at: "1970-01-01T00:00:00.000Z" }],
    [{ toJSON: () => "own" }, "own"],
    [Number.NaN, null],
  ])("%j is kept as the JSON %j", async (value, kept) => {
    const { returned, recordOf, record } = await running();
    await returned(value);
    expect(await recordOf(record)).toMatchObject({ status: "completed", result: kept });
  });

  test("JSON goes beside the record when it is larger than 4 KiB, counted in bytes", async () => {
    const fitting = await running();
    await fitting.returned("x".repeat(recordResultBytes - 2));
    expect(await fitting.recordOf(fitting.record)).not.toHaveProperty("result_ref");
    const larger = await running();
    const value = "ä".repeat(recordResultBytes / 2);
    await larger.returned(value);
    const record = await larger.recordOf(larger.record);
    expect(record).not.toHaveProperty("result");
    expect(record.result_ref).toEqual({ part: 1, bytes: recordResultBytes + 2, content_type: "application/json" });
    expect(await larger.records.loadPart(record, "result#1")).toBe(JSON.stringify(value));
  });

  test("a file goes beside the record, under the attempt's overall number", async () => {
    const { returned, recordOf, records, record } = await running({ record: { attempts_total: 7 } });
    const bytes = new Uint8Array([1, 2, 3]);
    await returned(file(bytes, { contentType: "application/pdf", fileName: "a.pdf" }));
    const result_ref = { part: 7, bytes: 3, content_type: "application/pdf", file_name: "a.pdf" };
    expect(await recordOf(record)).toMatchObject({ status: "completed", result_ref });
    expect(await records.loadPart(record, "result#7")).toEqual(bytes);
  });

  test.each([
    ["JSON of 300 KiB", "x".repeat(largestResultBytes - 2)],
    ["a file of 300 KiB", file(new Uint8Array(largestResultBytes), { contentType: "a/b", fileName: "a" })],
  ])("%s is kept", async (_, value) => {
    const { returned } = await running();
    expect(await returned(value)).toMatchObject({ as: "completed", record: { result_ref: { bytes: 307_200 } } });
  });

  test.each([
    ["JSON of more than 300 KiB", "x".repeat(largestResultBytes - 1), undefined],
    [
      "a file of more than 300 KiB",
      file(new Uint8Array(largestResultBytes + 1), { contentType: "text/plain", fileName: "a.txt" }),
      "a.txt",
    ],
    ["an outcome with much JSON", withOutcome("BIG", "x".repeat(largestResultBytes - 1)), undefined],
  ])("%s is stored in the bucket", async (_, value, file_name) => {
    const { returned, blobs } = await running();
    const { record } = await returned(value);
    expect(record).toMatchObject({ status: "completed", result_ref: { bytes: largestResultBytes + 1, part: 1 } });
    expect(record?.result_ref?.file_name).toBe(file_name);
    expect(await blobs.head(record?.result_ref?.blob ?? "")).toMatchObject({ sizeBytes: largestResultBytes + 1 });
  });

  const circular: Record<string, unknown> = {};
  circular.itself = circular;
  test.each<[string, unknown, string]>([
    ["refers to itself", circular, "result.itself contains itself"],
    ["holds a big integer", { n: 1n }, "result.n is a BigInt: use a text or a number"],
    ["is a function", () => {}, "it is a function"],
    [
      "refuses to be written",
      {
        toJSON: () => {
          throw new Error("no");
        },
      },
      "result cannot be read: no",
    ],
    ["holds a Promise", { total: Promise.resolve(1) }, "result.total is a Promise: await it"],
    ["is a Map", new Map([["a", 1]]), "result is a Map: use Object.fromEntries(map) or [...map]"],
    ["holds a Set in a list", { ids: [{ of: new Set([1]) }] }, "result.ids[0].of is a Set: use [...set]"],
    ["is a Response", new Response("{}"), "result is a Response: use what it contains, such as await response.json()"],
    ["holds a Blob", { body: new Blob(["a"]) }, "result.body is a Blob: use await blob.text()"],
    ["is a stream", Readable.from(["a"]), "result is a stream: read it"],
    ["holds a stream of the web", { body: new Response("a").body }, "result.body is a stream: read it"],
    ["holds a generator", { rows: [1].values() }, "result.rows is an iterator: use [...iterator]"],
    ["holds headers", { headers: new Headers({ a: "b" }) }, "result.headers is a Headers, of which JSON writes {}"],
    ["holds a pattern", { like: /a/ }, "result.like is a RegExp, of which JSON writes {}"],
    ["holds an error", { failed: [new Error("no")] }, "result.failed[0] is an Error: use its message"],
    [
      "holds a file",
      { report: file(new Uint8Array(3), { contentType: "text/csv" }) },
      "result.report is a file: a file can only be the whole result of a task",
    ],
    ["holds an outcome", [withOutcome("DONE", 1)], "result[0] is the value of withOutcome"],
    ["has an outcome, and holds a Promise", withOutcome("DONE", { a: Promise.resolve(1) }), "result.a is a Promise"],
  ])("a result that %s fails for good, and the message names the part", async (_, value, sentence) => {
    const { returned } = await running();
    const error = expect.stringContaining(`the result cannot be serialised as JSON: ${sentence}`);
    expect(await returned(value)).toMatchObject({ as: "failed", record: { error_kind: "permanent", error } });
  });

  test.each<[string, unknown, unknown]>([
    ["a Date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["an empty object", { a: {}, b: [{}] }, { a: {}, b: [{}] }],
    ["an object without a prototype", { a: Object.create(null) }, { a: {} }],
    ["a class with nothing in it", { a: new (class Empty {})() }, { a: {} }],
    ["null", { a: null }, { a: null }],
    ["undefined in it", { a: undefined, b: [undefined] }, { b: [null] }],
    ["a URL", { url: new URL("https://a.example/") }, { url: "https://a.example/" }],
    ["a value of its own form", { map: Object.assign(new Map(), { toJSON: () => [1] }) }, { map: [1] }],
    ["undefined", undefined, null],
  ])("a result that is %s is stored as JSON writes it", async (_, value, written) => {
    const { returned } = await running();
    expect(await returned(value)).toMatchObject({ as: "completed", record: { result: written } });
  });

  test.each([[Number.NaN], [Number.POSITIVE_INFINITY]])(
    "a result with %d in it is stored, with a warning",
    async (n) => {
      const { returned, ports } = await running();
      const warn = vi.spyOn(ports.log, "warn");
      const settled = await returned({ stock: [{ count: n }] });
      expect(settled).toMatchObject({ as: "completed", record: { result: { stock: [{ count: null }] } } });
      expect(warn).toHaveBeenCalledWith("a part of a result is lost", {
        part: `result.stock[0].count is ${n}, which JSON writes as null`,
      });
    },
  );

  test("an async schema of results is awaited", async () => {
    const output = z.object({ rows: z.number().refine(async (rows) => rows > 0, "expected rows") });
    const good = await running({ type: { output } });
    expect(await good.returned({ rows: 1 })).toMatchObject({ as: "completed" });
    const bad = await running({ type: { output } });
    expect(await bad.returned({ rows: 0 })).toMatchObject({
      as: "failed",
      record: { error_kind: "permanent", error: "result.rows: expected rows" },
    });
  });

  test("a result that does not fit the type's schema fails for good, and the message names the field", async () => {
    const type = { output: z.object({ rows: z.number() }) };
    const good = await running({ type });
    expect(await good.returned({ rows: 1 })).toMatchObject({ as: "completed" });
    const bad = await running({ type });
    expect(await bad.returned({ rows: "many" })).toMatchObject({
      as: "failed",
      record: { error_kind: "permanent", error: expect.stringMatching(/^result\.rows: /) },
    });
    const within = await running({ type });
    expect(await within.returned(withOutcome("X", { rows: "many" }))).toMatchObject({ as: "failed" });
    const whole = await running({ type });
    expect(await whole.returned(7)).toMatchObject({
      as: "failed",
      record: { error: expect.stringMatching(/^result: /) },
    });
  });

  test("a result whose schema throws fails for good", async () => {
    const output = z.unknown().transform(() => {
      throw new RangeError("broken");
    });
    const { returned } = await running({ type: { output } });
    expect(await returned(7)).toMatchObject({ as: "failed", record: { error_kind: "permanent" } });
  });
});

describe("an attempt that failed and is retried", () => {
  test("the task waits with its error, and its message comes back in time", async () => {
    const { threw, recordOf, record, queues, clock, now } = await running();
    const settled = await threw(new Unavailable("the database is down"));
    const due = iso(clock.now() + 60_000);
    const failure = { error: "the database is down", error_type: "Unavailable", error_kind: "unavailable" };
    const { lease_until, progress, ...rest } = record;
    const attempt = { round: 1, number: 1, started_at: record.started_at, finished_at: now, outcome: "retried" };
    expect(await recordOf(record)).toEqual({
      ...rest,
      ...failure,
      status: "pending",
      updated_at: now,
      due_at: due,
      retrying_in: "normal",
      purge_at: Date.parse(due) / 1000 + 14 * 86_400 + record.retention_seconds,
      kept_input: '{"input":{"value":null}}',
      history: [{ ...attempt, ...failure, next_attempt_at: due }],
    });
    expect(settled).toEqual({ as: "retried", record: await recordOf(record) });
    expect(queues.waiting("normal")).toMatchObject([{ visibleAt: Date.parse(due) }]);
  });

  test("the retry goes to the task's own tier, with the same envelope", async () => {
    const { threw, queues, envelope } = await running({ record: { priority: "critical" } });
    await threw(new Error("no"));
    expect(queues.take("critical", 1, 0)).toEqual([]);
    expect(queues.waiting("critical")).toMatchObject([{ body: JSON.stringify(envelope) }]);
  });

  test("the retry waits no shorter than Retry-After, by a one-off when that is long", async () => {
    const short = await running();
    await short.threw(new RetryAfter(700));
    expect(await short.recordOf(short.record)).toMatchObject({ due_at: iso(short.clock.now() + 700_000) });
    const long = await running();
    await long.threw(new RetryAfter(7200));
    const due = long.clock.now() + 7_200_000;
    expect(await long.recordOf(long.record)).toMatchObject({ due_at: iso(due) });
    expect(long.queues.waiting("normal")).toEqual([]);
    expect([...long.oneOffs.all().values()]).toMatchObject([{ at: iso(due - 60_000) }]);
  });

  test("the retry follows the type's own policy and rules", async () => {
    const type: Partial<TaskType> = {
      retry: { waitsSeconds: [11], jitter: "none" },
      classify: [(error) => (error instanceof RangeError ? "permanent" : undefined)],
    };
    const plain = await running({ type });
    await plain.threw(new Error("no"));
    expect(await plain.recordOf(plain.record)).toMatchObject({ due_at: iso(plain.clock.now() + 11_000) });
    const ruled = await running({ type });
    expect(await ruled.threw(new RangeError("no"))).toMatchObject({ as: "failed" });
  });

  test("the retry uses the random number and the time scale of its ports", async () => {
    const { threw, recordOf, record, clock } = await running({ random: () => 0.5, timeScale: 2 });
    await threw(new Error("no"));
    expect(await recordOf(record)).toMatchObject({ due_at: iso(clock.now() + 30_000 * 1.25 * 2) });
  });

  test("the retry counts earlier failures of its kind in this round", async () => {
    const three = Array.from({ length: 3 }, () => earlier("conflict"));
    const second = await running({ record: { attempts: 2, history: [earlier("transient")] } });
    await second.threw(Object.assign(new Error("no"), { status: 409 }));
    expect(await second.recordOf(second.record)).toMatchObject({ due_at: iso(second.clock.now() + 1_000) });
    const fourth = await running({ record: { attempts: 4, max_attempts: 20, history: three } });
    expect(await fourth.threw(Object.assign(new Error("no"), { status: 409 }))).toMatchObject({ as: "failed" });
  });

  test.each([
    ["a time-out", { how: "timed_out", error: new AttemptTimedOut("took longer than 10 s") }, "timed_out"],
    ["an error", { how: "threw", error: new Error("no") }, "retried"],
  ] as const)("the history names %s as such", async (_, ended, outcome) => {
    const { end, recordOf, record } = await running();
    await end(ended);
    expect((await recordOf(record)).history).toMatchObject([{ outcome, next_attempt_at: expect.any(String) }]);
  });

  test("the history keeps short messages", async () => {
    const { threw, recordOf, record } = await running();
    await threw(new Error("x".repeat(5_000)));
    const { error, history } = await recordOf(record);
    expect([error?.length, history[0]?.error?.length]).toEqual([1_000, 500]);
  });

  test("the record is still kept when its wait is over", async () => {
    const { threw, recordOf, record } = await running({ record: { retention_seconds: 60, purge_at: 1_800_000_000 } });
    await threw(new RetryAfter(2_592_000));
    const { due_at, purge_at } = await recordOf(record);
    expect(purge_at * 1000).toBeGreaterThan(Date.parse(due_at));
  });

  test("a shorter RetryAfter than the own wait is heeded", async () => {
    const { threw, recordOf, record, clock } = await running();
    await threw(new RetryAfter(5));
    const { due_at } = await recordOf(record);
    expect(Date.parse(due_at) - clock.now()).toBeLessThanOrEqual(6_000);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300])("a RetryAfter of %d is retried", async (seconds) => {
    const { threw } = await running();
    expect(await threw(new RetryAfter(seconds))).toMatchObject({ as: "retried" });
  });
});

describe("an attempt that failed for good", () => {
  const closed = new PermanentError("the account was closed");

  test("the task becomes a dead letter, with its envelope kept for a replay", async () => {
    const { threw, recordOf, record, records, envelope, now } = await running();
    await threw(closed);
    const failure = { error: "the account was closed", error_type: "PermanentError", error_kind: "permanent" };
    const { lease_until, ...rest } = record;
    const attempt = { round: 1, number: 1, started_at: record.started_at, finished_at: now, outcome: "failed" };
    expect(await recordOf(record)).toEqual({
      ...rest,
      ...failure,
      status: "failed",
      updated_at: now,
      finished_at: now,
      dead_letter_at: now,
      buried_at: now,
      first_failed_at: now,
      retained_until: "2027-01-15T00:00:02.000Z",
      purge_at: Date.parse("2027-01-15T00:00:02.000Z") / 1000,
      history: [{ ...attempt, ...failure }],
    });
    expect(await records.loadPart(record, "envelope")).toEqual(envelope);
  });

  test("there is one message in the tier's DLQ, and none in the tier", async () => {
    const { threw, queues, envelope, now } = await running({ record: { priority: "low" } });
    await threw(closed);
    expect(queues.waiting("low")).toEqual([]);
    expect(queues.deadLettersOf("low").map(({ body }) => parseDeadLetter(body))).toEqual([
      {
        original_message: envelope,
        failure_reason: "the account was closed",
        failure_type: "PermanentError",
        failure_kind: "permanent",
        attempt_count: 1,
        first_failed_at: now,
        last_failed_at: now,
        original_queue: "low",
      },
    ]);
  });

  test("the last attempt fails the task with its own kind of error", async () => {
    const { threw } = await running({ record: { attempts: 5, max_attempts: 5 } });
    expect(await threw(new Error("no"))).toMatchObject({
      as: "failed",
      record: { error_kind: "transient", history: [{ outcome: "failed" }] },
    });
  });

  test("a time-out in the last attempt fails the task as timed_out", async () => {
    const { end } = await running({ record: { attempts: 5 } });
    expect(await end({ how: "timed_out", error: new AttemptTimedOut("too long") })).toMatchObject({
      as: "failed",
      record: { error_kind: "timed_out", history: [{ outcome: "timed_out" }] },
    });
  });

  test("only a violated business rule needs review", async () => {
    const ruled = await running();
    await ruled.threw(new BusinessRuleViolation("over the limit"));
    expect(await ruled.recordOf(ruled.record)).toMatchObject({ needs_review: true });
    const replayed = await running({ record: { needs_review: true } });
    await replayed.threw(closed);
    expect(await replayed.recordOf(replayed.record)).not.toHaveProperty("needs_review");
  });

  test("a later round keeps when the task first failed", async () => {
    const first_failed_at = "2026-12-01T00:00:00.000Z";
    const { threw, recordOf, record, now } = await running({ record: { round: 2, first_failed_at } });
    await threw(closed);
    expect(await recordOf(record)).toMatchObject({ first_failed_at, dead_letter_at: now, history: [{ round: 2 }] });
  });

  test("a task whose type the worker does not have is settled, too", async () => {
    const { ports, record, envelope } = await running();
    const settled = await settle(ports, { record, envelope, type: undefined }, { how: "threw", error: closed });
    expect(settled).toMatchObject({ as: "failed", record: { error_kind: "permanent" } });
  });
});

describe("the letter of a dead task", () => {
  test("a dead letter is sent later when the DLQ could not take it", async () => {
    const { threw, recordOf, record, queues, ports, envelope } = await running();
    vi.spyOn(queues, "deadLetter").mockRejectedValueOnce(new PortUnavailable("the queue"));
    await expect(threw(new PermanentError("no"))).rejects.toThrow(PortUnavailable);
    expect(await recordOf(record)).toMatchObject({ status: "failed" });
    expect(await recordOf(record)).not.toHaveProperty("buried_at");
    await followUp(ports, await recordOf(record), envelope);
    expect(queues.deadLettersOf("normal")).toHaveLength(1);
  });

  test("a dead letter is sent once", async () => {
    const { threw, recordOf, record, queues, ports, envelope } = await running();
    await threw(new PermanentError("no"));
    await followUp(ports, await recordOf(record), envelope);
    expect(queues.deadLettersOf("normal")).toHaveLength(1);
  });

  test.each(["completed", "cancelled", "expired"] as const)("a task that is %s has no letter", async (status) => {
    const { record, queues, ports, envelope } = await running();
    await followUp(ports, { ...record, status }, envelope);
    expect(queues.deadLettersOf("normal")).toEqual([]);
  });

  test("a letter of a round that was replayed in between does not change the new round", async () => {
    const { threw, recordOf, record, records, ports, envelope } = await running();
    await threw(new PermanentError("no"));
    const failed = await recordOf(record);
    await records.change(record, { when: {}, remove: ["buried_at", "dead_letter_at"], set: { status: "pending" } });
    const { buried_at, ...unburied } = failed;
    await followUp(ports, unburied, envelope);
    expect(await recordOf(record)).not.toHaveProperty("buried_at");
  });
});

describe("a late attempt", () => {
  const ends: Ended[] = [
    { how: "returned", packed: { inline: "late" } },
    { how: "threw", error: new Error("late") },
    { how: "threw", error: new PermanentError("late") },
    { how: "timed_out", error: new AttemptTimedOut("late") },
    { how: "cancelled" },
  ];

  test.each(ends)("a late attempt that $how cannot change a record whose next attempt runs", async (ended) => {
    const { end, records, recordOf, record, queues } = await running();
    await records.change(record, { when: {}, add: { attempts: 1, attempts_total: 1 } });
    const before = await recordOf(record);
    expect(await end(ended)).toEqual({ as: "stale", record: before });
    expect(await recordOf(record)).toEqual(before);
    expect([queues.waiting("normal"), queues.deadLettersOf("normal")]).toEqual([[], []]);
  });

  test.each(ends)("a late attempt that $how cannot change a record that has ended", async (ended) => {
    const { end, records, recordOf, record } = await running();
    await records.change(record, { when: {}, set: { status: "completed", result: "first" } });
    const before = await recordOf(record);
    expect(await end(ended)).toEqual({ as: "stale", record: before });
    expect(await recordOf(record)).toEqual(before);
  });

  test("a late attempt cannot overwrite the newer result beside the record", async () => {
    const { returned, records, record } = await running();
    await records.change(record, { when: {}, add: { attempts: 1, attempts_total: 1 } });
    await records.savePart(record, "result#2", "newer", 0);
    await returned("x".repeat(10_000));
    expect(await records.loadPart(record, "result#2")).toBe("newer");
  });

  test("a late attempt of a record that is gone is stale", async () => {
    const { ports, envelope, type } = await running();
    const gone = newRecord({ status: "processing", attempts_total: 1 });
    const settled = await settle(ports, { record: gone, envelope, type }, { how: "returned", packed: { inline: 1 } });
    expect(settled).toEqual({ as: "stale", record: undefined });
  });
});

describe("a request to cancel", () => {
  const ends: Ended[] = [
    { how: "returned", packed: { inline: "unwanted" } },
    { how: "threw", error: new Error("no") },
    { how: "threw", error: new PermanentError("no") },
    { how: "timed_out", error: new AttemptTimedOut("too long") },
    { how: "cancelled" },
  ];

  test.each(ends)("a request to cancel ends a task whose attempt $how, and discards its result", async (ended) => {
    const { end, records, recordOf, record, queues, now } = await running();
    await records.change(record, { when: {}, set: { cancel_requested_at: now } });
    expect(await end(ended)).toMatchObject({ as: "cancelled", record: { status: "cancelled" } });
    const after = await recordOf(record);
    expect(after).toMatchObject({ finished_at: now, history: [{ outcome: "cancelled" }] });
    for (const field of ["lease_until", "cancel_requested_at", "result", "dead_letter_at"]) {
      expect(after).not.toHaveProperty(field);
    }
    expect([queues.waiting("normal"), queues.deadLettersOf("normal")]).toEqual([[], []]);
  });
});

describe("an attempt that crashed", () => {
  test("a crashed attempt counts, waits, and runs alone next time", async () => {
    const { ports, record, envelope, type, clock, queues } = await running();
    await clock.advance(30_000);
    const settled = await settleCrashed(ports, { record, envelope, type });
    const error = "the worker died, or lost its lease, during attempt 1";
    expect(settled).toMatchObject({
      as: "retried",
      record: { status: "pending", error, error_kind: "crashed", history: [{ outcome: "crashed" }] },
    });
    await clock.advance(30_000);
    expect(queues.take("normal", 1, 60)).toMatchObject([{ solo: true }]);
  });

  test("what its process noted is in the record, and its places where the type is not sensitive", async () => {
    const stack = "process.exit\n    at leave (tasks/pay.ts:6:11)";
    const note = { cause: "exited", by: "this", attempts: 1, exit_code: 1, stack };
    const { ports, record, envelope, type, records } = await running();
    await records.savePart(record, `crash#${record.attempts_total}`, note, record.purge_at);
    await records.savePart(record, `crash#${record.attempts_total + 1}`, { ...note, exit_code: 2 }, record.purge_at);
    const error = "attempt 1 called process.exit(1), at tasks/pay.ts:6:11";
    expect(await settleCrashed(ports, { record, envelope, type })).toMatchObject({
      record: { error, error_type: "ProcessExited", error_kind: "crashed", history: [{ outcome: "crashed", stack }] },
    });
    const other = await running();
    await other.records.savePart(other.record, `crash#${other.record.attempts_total}`, note, other.record.purge_at);
    const sensitive = { ...other.type, sensitive: true };
    const settled = await settleCrashed(other.ports, {
      record: other.record,
      envelope: other.envelope,
      type: sensitive,
    });
    expect(settled.record).toMatchObject({ error, history: [{ outcome: "crashed" }] });
    expect(settled.record?.history[0]).not.toHaveProperty("stack");
  });

  test("an attempt whose lease was renewed in between has not crashed", async () => {
    const { ports, record, envelope, type, records } = await running();
    await records.change(record, { when: {}, set: { lease_until: "2027-01-01T01:00:00.000Z" } });
    expect(await settleCrashed(ports, { record, envelope, type })).toMatchObject({ as: "stale" });
  });

  test("a crash of the last attempt fails the task as crashed", async () => {
    const { ports, record, envelope, type } = await running({ record: { attempts: 5 } });
    expect(await settleCrashed(ports, { record, envelope, type })).toMatchObject({
      as: "failed",
      record: { error_kind: "crashed", history: [{ outcome: "crashed" }] },
    });
  });

  test("a crash after a request to cancel ends the task", async () => {
    const { ports, record, envelope, type, records, now } = await running();
    await records.change(record, { when: {}, set: { cancel_requested_at: now } });
    expect(await settleCrashed(ports, { record, envelope, type })).toMatchObject({ as: "cancelled" });
  });
});
