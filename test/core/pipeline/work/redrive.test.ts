import { describe, expect, test, vi } from "vitest";
import { PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import { parseDeadLetter } from "../../../../src/core/model/read-envelope.ts";
import { iso } from "../../../../src/core/model/record.ts";
import { maxRedrives } from "../../../../src/core/pipeline/work/redrive.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { memoryPipeline, type Pipeline } from "../../../support/memory-pipeline.ts";
import { envelopeOf, newRecord } from "../../../support/records.ts";
import { typeOf } from "../../../support/task-types.ts";

const setUp = (handler: TaskType["handler"] = () => "result") =>
  memoryPipeline([typeOf(handler, { timeoutSeconds: 10 })]);

/** Puts a task's message into the tier as one that was handed out too often. */
async function stuck(pipeline: Pipeline, redrives = 0, body: Record<string, unknown> = {}) {
  const record = await pipeline.accept(body);
  const [delivery] = pipeline.queues.take("normal", 1, 0);
  pipeline.queues.acknowledge(delivery?.receiptHandle ?? "");
  const text = delivery?.body ?? JSON.stringify(envelopeOf(record, null));
  pipeline.queues.put("normal", text, { redrives, tenantId: "acme" });
  return record;
}

const letters = ({ queues }: Pipeline) => queues.deadLettersOf("normal").map(({ body }) => parseDeadLetter(body));

describe("a waiting task whose message was given up", () => {
  test.each([0, 1, 2])("the task goes back into its tier with a fresh message after %i redrives", async (redrives) => {
    const pipeline = setUp();
    const record = await stuck(pipeline, redrives);
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect(pipeline.queues.waiting("normal")).toMatchObject([{ redrives: redrives + 1, receiveCount: 0 }]);
    expect(await pipeline.recordOf(record)).toEqual(record);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("the task is a dead letter after three redrives, with its input kept for a replay", async () => {
    const pipeline = setUp();
    const record = await stuck(pipeline, maxRedrives);
    expect(await pipeline.redrive()).toEqual(["done"]);
    const failure = { error_type: "Undeliverable", error_kind: "crashed" };
    expect(await pipeline.recordOf(record)).toMatchObject({
      ...failure,
      status: "failed",
      attempts: 0,
      dead_letter_at: iso(pipeline.clock.now()),
      buried_at: iso(pipeline.clock.now()),
    });
    expect(letters(pipeline)).toMatchObject([
      { original_message: { task_id: record.task_id }, failure_type: "Undeliverable", attempt_count: 0 },
    ]);
    expect(await pipeline.records.loadPart(record, "envelope")).toMatchObject({ task_id: record.task_id });
    expect(pipeline.queues.waiting("normal")).toEqual([]);
  });

  test("a task that is due later waits for its time", async () => {
    const pipeline = setUp();
    const record = await stuck(pipeline, 0, { delay_seconds: 600 });
    await pipeline.redrive();
    const times = pipeline.queues.waiting("normal").map(({ visibleAt }) => visibleAt);
    expect(times).toContain(Date.parse(record.due_at));
    expect(times.every((time) => time >= Date.parse(record.due_at))).toBe(true);
  });

  test("a task that did not start in time expires, and never fails", async () => {
    const pipeline = setUp();
    const record = await stuck(pipeline, maxRedrives, { expires_in_seconds: 60 });
    await pipeline.clock.advance(60_000);
    expect(await pipeline.redrive()).toEqual(["done"]);
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "expired", attempts: 0 });
    expect(letters(pipeline)).toEqual([]);
  });

  test("a task that changes at the same time is looked at again", async () => {
    const pipeline = setUp();
    const record = await stuck(pipeline, maxRedrives);
    const change = pipeline.records.change.bind(pipeline.records);
    vi.spyOn(pipeline.records, "change").mockImplementationOnce(async (...given) => {
      await change(record, { when: {}, add: { attempts: 1, attempts_total: 1 } });
      return change(...given);
    });
    expect(await pipeline.redrive()).toEqual(["again"]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending" });
    expect(letters(pipeline)).toEqual([]);
  });
});

describe("a running task whose message was given up", () => {
  const running = async (pipeline: Pipeline, attempts = 1) => {
    const record = await stuck(pipeline);
    const lease_until = iso(pipeline.clock.now() + 30_000);
    const set = { status: "processing", started_at: iso(pipeline.clock.now()), lease_until } as const;
    await pipeline.records.change(record, { when: {}, set, add: { attempts, attempts_total: attempts } });
    return record;
  };

  test("a running task is left alone while its lease lives", async () => {
    const pipeline = setUp();
    const record = await running(pipeline);
    const before = await pipeline.recordOf(record);
    expect(await pipeline.redrive()).toEqual(["again"]);
    expect(await pipeline.recordOf(record)).toEqual(before);
  });

  test("a running task crashed when its lease has ended, and waits for its next attempt", async () => {
    const pipeline = setUp();
    const record = await running(pipeline);
    await pipeline.clock.advance(30_000);
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect(await pipeline.recordOf(record)).toMatchObject({
      status: "pending",
      error_kind: "crashed",
      history: [{ outcome: "crashed" }],
    });
    expect(pipeline.queues.waiting("normal")).toMatchObject([{ solo: true, redrives: 0 }]);
  });

  test("a running task fails when that was its last attempt", async () => {
    const pipeline = setUp();
    const record = await running(pipeline, 5);
    await pipeline.clock.advance(30_000);
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "failed", error_kind: "crashed" });
    expect(letters(pipeline)).toHaveLength(1);
  });
});

describe("a message whose task is not open", () => {
  test("a message whose task has ended is dropped", async () => {
    const pipeline = setUp();
    const record = await stuck(pipeline);
    await pipeline.records.change(record, { when: {}, set: { status: "completed" } });
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect([pipeline.queues.waiting("normal"), letters(pipeline)]).toEqual([[], []]);
  });

  test("a message whose failed task has no dead letter yet sends it, once", async () => {
    const pipeline = setUp(() => Promise.reject(new PermanentError("no")));
    const record = await pipeline.accept();
    const deadLetter = vi.spyOn(pipeline.queues, "deadLetter").mockRejectedValue(new PortUnavailable("the queue"));
    const working = pipeline.work();
    await pipeline.clock.advance(60_000);
    await working;
    deadLetter.mockRestore();
    expect(letters(pipeline)).toEqual([]);
    await pipeline.clock.advance(100_000);
    expect(await pipeline.redrive()).toEqual(["done"]);
    pipeline.queues.put("normal", JSON.stringify(envelopeOf(record)));
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect(letters(pipeline)).toHaveLength(1);
  });

  test.each([
    ["was never there", undefined],
    ["is past its time", 0],
  ])("a message whose task %s is dropped", async (_, purge_at) => {
    const pipeline = setUp();
    const record = newRecord(purge_at === undefined ? {} : { purge_at });
    if (purge_at !== undefined) await pipeline.records.create(record, iso(pipeline.clock.now()));
    pipeline.queues.put("normal", JSON.stringify(envelopeOf(record)));
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect([pipeline.queues.waiting("normal"), letters(pipeline)]).toEqual([[], []]);
  });

  test("an unreadable message goes to the DLQ, whole", async () => {
    const pipeline = setUp();
    pipeline.queues.put("normal", "{", { tenantId: "acme" });
    expect(await pipeline.redrive()).toEqual(["done"]);
    expect(letters(pipeline)).toMatchObject([{ original_message: "{", failure_type: "UnreadableMessage" }]);
  });
});

describe("a batch", () => {
  test("each message of a batch is decided by itself: one that cannot be decided comes again", async () => {
    const pipeline = setUp();
    for (let count = 0; count < 3; count++) await stuck(pipeline);
    vi.spyOn(pipeline.records, "get").mockRejectedValueOnce(new PortUnavailable("the table"));
    expect(await pipeline.redrive()).toEqual(["again", "done", "done"]);
    expect(pipeline.log.lines).toContainEqual(expect.objectContaining({ level: "error" }));
  });

  test("an unexpected error of a port does not affect the rest of the batch", async () => {
    const pipeline = setUp();
    pipeline.queues.put("normal", "{");
    await stuck(pipeline);
    vi.spyOn(pipeline.queues, "deadLetter").mockRejectedValueOnce(new TypeError("oops"));
    expect((await pipeline.redrive()).sort()).toEqual(["again", "done"]);
  });
});

test("a task that no worker can start ends as a dead letter", async () => {
  const pipeline = setUp();
  const record = await stuck(pipeline);
  for (let round = 0; round <= maxRedrives; round++) expect(await pipeline.redrive()).toEqual(["done"]);
  expect(await pipeline.recordOf(record)).toMatchObject({ status: "failed", error_type: "Undeliverable" });
  expect(letters(pipeline)).toHaveLength(1);
});
