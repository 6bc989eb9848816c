import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { discardOne, replayOne } from "../../../src/core/control/act-on-task.ts";
import { deadLetterName, type Sweeper, sweep } from "../../../src/core/control/sweep.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { KeptLog } from "../../support/kept.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { newRecord } from "../../support/records.ts";

type Pipeline = ReturnType<typeof operationsPipeline>;

const letterOf = (record: TaskRecord | undefined) => ({
  tenant_id: record?.tenant_id ?? "",
  task_id: record?.task_id ?? "",
  dead_letter_at: record?.dead_letter_at ?? "",
});

const sweeperOf = ({ clock }: Pipeline, more: Partial<Sweeper> = {}): Sweeper => ({
  owner: randomUUID(),
  endMs: clock.now() + 780_000,
  signal: new AbortController().signal,
  log: new KeptLog(),
  ...more,
});

/** Waits for a promise, moving time on as its waits ask for. */
async function settled<T>({ clock }: Pipeline, working: Promise<T>): Promise<T> {
  let over = false;
  const mark = () => {
    over = true;
  };
  working.then(mark, mark);
  while (!over) await clock.advance(Math.max(0, (clock.nextTimer() ?? clock.now()) - clock.now()));
  return working;
}

const sweepOf = (pipeline: Pipeline, more?: Partial<Sweeper>) =>
  settled(pipeline, sweep(pipeline.ports, "normal", sweeperOf(pipeline, more)));

const visible = ({ queues, clock }: Pipeline) =>
  queues.deadLettersOf("normal").filter(({ visibleAt }) => visibleAt <= clock.now()).length;

describe("a sweep", () => {
  test("a sweep deletes the messages of replayed and discarded dead letters, and releases the others", async () => {
    const pipeline = operationsPipeline();
    const records = await pipeline.deadLetter(35);
    const [first, second] = records;
    await replayOne(pipeline.ports, letterOf(first));
    await discardOne(pipeline.ports, letterOf(second));
    const { deleted } = await sweepOf(pipeline);
    expect(deleted).toEqual(new Set([deadLetterName(letterOf(first)), deadLetterName(letterOf(second))]));
    expect(pipeline.deadLettered()).toEqual(records.slice(2).map(({ task_id }) => task_id));
    expect(visible(pipeline)).toBe(33);
  });

  test("a sweep of a task that failed again deletes the first message and keeps the second", async () => {
    const pipeline = operationsPipeline();
    const [record] = await pipeline.deadLetter(1);
    await replayOne(pipeline.ports, letterOf(record));
    await pipeline.clock.advance(1);
    await pipeline.run("normal");
    expect(pipeline.deadLettered()).toHaveLength(2);
    await sweepOf(pipeline);
    const left = pipeline.queues.deadLettersOf("normal").map(({ body }) => JSON.parse(body).last_failed_at);
    expect(left).toEqual([(await pipeline.recordOf(letterOf(record))).dead_letter_at]);
  });

  test("a sweep keeps the message of a failure that a replica does not show yet", async () => {
    const pipeline = operationsPipeline();
    const [record = newRecord()] = await pipeline.deadLetter(1);
    pipeline.records.get = async () => ({ ...record, status: "processing" as const, dead_letter_at: "earlier" });
    expect((await sweepOf(pipeline)).deleted.size).toBe(0);
    expect(pipeline.deadLettered()).toEqual([record.task_id]);
  });

  test("a sweep keeps unreadable messages, and messages of other tenants' dead letters", async () => {
    const pipeline = operationsPipeline();
    const identity = { tenantId: "globex", principal: "gina", role: "operator" } as const;
    await pipeline.deadLetter(1, { identity });
    const bodies = ["no JSON", "{}", JSON.stringify({ original_message: "cut off" })];
    for (const body of bodies) {
      pipeline.queues.deadLettersOf("normal").push({ body, visibleAt: 0, handle: "" });
    }
    await pipeline.queues.deadLetter("normal", {
      original_message: "not an envelope",
      failure_reason: "the message is not JSON",
      failure_type: "UnreadableMessage",
      failure_kind: "validation",
      attempt_count: 0,
      first_failed_at: "2027-01-01T00:00:00.000Z",
      last_failed_at: "2027-01-01T00:00:00.000Z",
      original_queue: "normal",
    });
    expect((await sweepOf(pipeline)).deleted.size).toBe(0);
    expect(pipeline.queues.deadLettersOf("normal")).toHaveLength(5);
    expect(visible(pipeline)).toBe(5);
  });

  test("a message whose record is gone becomes the record: it is listed with what it holds, and can be put back", async () => {
    const pipeline = operationsPipeline();
    const [record = newRecord(), other = newRecord()] = await pipeline.deadLetter(2);
    pipeline.records.forget(record);
    const listed = () => pipeline.ports.records.listDeadLetters({ tenantId: record.tenant_id, limit: 10 });
    expect((await listed()).items.map(({ task_id }) => task_id)).toEqual([other.task_id]);
    const log = new KeptLog();
    expect((await sweepOf(pipeline, { log })).deleted.size).toBe(0);
    expect(log.lines).toContainEqual(expect.objectContaining({ level: "warn" }));
    const restored = await pipeline.recordOf(record);
    const { type, priority, error, error_type, error_kind, dead_letter_at, attempts, requested_by } = record;
    expect(restored).toMatchObject({
      type,
      priority,
      error,
      error_type,
      error_kind,
      dead_letter_at,
      attempts,
      requested_by,
    });
    expect((await listed()).items).toHaveLength(2);
    expect(pipeline.deadLettered()).toHaveLength(2);
    // Another sweep changes nothing.
    await sweepOf(pipeline);
    expect(await pipeline.recordOf(record)).toEqual(restored);
    expect(await replayOne(pipeline.ports, letterOf(restored))).toBe("done");
    expect((await sweepOf(pipeline)).deleted).toEqual(new Set([deadLetterName(letterOf(record))]));
    expect(pipeline.deadLettered()).toEqual([other.task_id]);
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "pending", round: 2, attempts: 0 });
  });

  test("a message whose record was deleted after its 14 days is deleted, too, and does not come back", async () => {
    const pipeline = operationsPipeline();
    const [record = newRecord(), other = newRecord()] = await pipeline.deadLetter(2);
    pipeline.records.forget(record);
    await pipeline.clock.advance(14 * 86_400_000 - 1000);
    await sweepOf(pipeline);
    expect(await pipeline.ports.records.get(record)).toMatchObject({ status: "failed" });
    pipeline.records.forget(record);
    pipeline.records.forget(other);
    await pipeline.clock.advance(1000);
    const { deleted } = await sweepOf(pipeline);
    expect(deleted).toEqual(new Set([record, other].map((one) => deadLetterName(letterOf(one)))));
    expect(await pipeline.ports.records.get(record)).toBeUndefined();
    expect(pipeline.deadLettered()).toEqual([]);
  });

  test("a message that claims to be Offload's and is not stays as it is", async () => {
    const pipeline = operationsPipeline();
    const [record = newRecord()] = await pipeline.deadLetter(1);
    pipeline.records.forget(record);
    const [deadLetter] = pipeline.queues.deadLettersOf("normal");
    if (deadLetter !== undefined)
      deadLetter.body = deadLetter.body.replace(/"last_failed_at":"[^"]*"/, '"last_failed_at":"~"');
    await sweepOf(pipeline);
    expect(await pipeline.ports.records.get(record)).toBeUndefined();
    expect(pipeline.deadLettered()).toEqual([record.task_id]);
  });

  test("a sweep keeps one of several messages of one dead letter, and a later discard deletes that one", async () => {
    const pipeline = operationsPipeline();
    const records = await pipeline.deadLetter(3);
    for (const deadLetter of pipeline.queues.deadLettersOf("normal").slice(0, 2))
      for (let copy = 0; copy < 15; copy++) pipeline.queues.deadLettersOf("normal").push({ ...deadLetter });
    const log = new KeptLog();
    expect((await sweepOf(pipeline, { log })).deleted.size).toBe(0);
    expect(pipeline.deadLettered().sort()).toEqual(records.map(({ task_id }) => task_id).sort());
    expect(visible(pipeline)).toBe(3);
    expect(log.lines[0]).toMatchObject({ message: "DLQ swept", fields: { deleted: 0, surplus: 30, kept: 3 } });
    const operationId = await pipeline.start("discard");
    expect(await pipeline.finish(operationId)).toMatchObject({ done: 3 });
    expect(pipeline.deadLettered()).toEqual([]);
  });

  test("a sweep keeps a message that SQS delivers twice", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(1);
    const receive = pipeline.queues.receive.bind(pipeline.queues);
    const delivered: Awaited<ReturnType<typeof receive>> = [];
    pipeline.queues.receive = async (tier, seconds) => {
      const deadLetters = await receive(tier, seconds);
      delivered.push(...deadLetters);
      return deadLetters.length > 0 ? deadLetters : delivered.splice(0);
    };
    await sweepOf(pipeline);
    expect(pipeline.deadLettered()).toHaveLength(1);
  });

  test("a sweep deletes the message of a task whose record is past its retention", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(1);
    await pipeline.clock.advance(15 * 86_400_000);
    await sweepOf(pipeline);
    expect(pipeline.deadLettered()).toEqual([]);
  });

  test("a sweep waits for another sweep of its tier, which might hold the same messages", async () => {
    const pipeline = operationsPipeline();
    const { ports, queues, clock, deadLetter, deadLettered } = pipeline;
    const [record] = await deadLetter(1);
    const receive = queues.receive.bind(queues);
    const slowUntil = clock.now() + 5_000;
    queues.receive = async (tier, seconds) => {
      const deadLetters = await receive(tier, seconds);
      if (deadLetters.length === 0) await new Promise<void>((resolve) => clock.after(slowUntil - clock.now(), resolve));
      return deadLetters;
    };
    const first = sweep(ports, "normal", sweeperOf(pipeline));
    await clock.advance(100);
    await discardOne(ports, letterOf(record));
    const second = sweep(ports, "normal", sweeperOf(pipeline));
    await settled(pipeline, Promise.all([first, second]));
    expect((await first).deleted.size).toBe(0);
    expect(deadLettered()).toEqual([]);
  });

  test("a sweep that breaks off leaves its messages visible in time for the next one", async () => {
    const pipeline = operationsPipeline();
    const [record] = await pipeline.deadLetter(1);
    await discardOne(pipeline.ports, letterOf(record));
    const broken = new AbortController();
    const get = pipeline.records.get.bind(pipeline.records);
    pipeline.records.get = () => new Promise(() => {});
    void sweep(pipeline.ports, "normal", sweeperOf(pipeline, { signal: broken.signal }));
    await pipeline.clock.advance(10);
    pipeline.records.get = get;
    const startedAt = pipeline.clock.now();
    expect((await sweepOf(pipeline)).deleted.size).toBe(1);
    expect(pipeline.clock.now() - startedAt).toBeLessThanOrEqual(65_000);
  });

  test("a sweep releases its messages and its turn when a port fails", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(12);
    const receive = pipeline.queues.receive.bind(pipeline.queues);
    let calls = 0;
    pipeline.queues.receive = async (tier, seconds) => {
      if (++calls > 1) throw new PortUnavailable("the queue");
      return receive(tier, seconds);
    };
    await expect(sweepOf(pipeline)).rejects.toThrow(PortUnavailable);
    expect(visible(pipeline)).toBe(12);
    pipeline.queues.receive = receive;
    const startedAt = pipeline.clock.now();
    await sweepOf(pipeline);
    expect(pipeline.clock.now()).toBe(startedAt);
  });

  test("a sweep is put off when too little time is left for it", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(1);
    const endMs = pipeline.clock.now() + 30_000;
    await expect(sweepOf(pipeline, { endMs })).rejects.toMatchObject({ name: "SweepLater", kind: "transient" });
  });

  test("a sweep reports when its time ran out before the end", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(50);
    const receive = pipeline.queues.receive.bind(pipeline.queues);
    pipeline.queues.receive = async (tier, seconds) => {
      await new Promise<void>((resolve) => pipeline.clock.after(60_000, resolve));
      return receive(tier, seconds);
    };
    expect(await sweepOf(pipeline)).toMatchObject({ mayBeHidden: true });
    expect(pipeline.deadLettered()).toHaveLength(50);
  });

  test("a sweep reports when another reader held messages", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(2);
    expect(await sweepOf(pipeline)).toMatchObject({ mayBeHidden: false });
    await pipeline.queues.receive("normal", 30);
    expect(await sweepOf(pipeline)).toMatchObject({ mayBeHidden: true });
  });
});

describe("the last step of an operation", () => {
  test("the last step waits for its own messages while another reader holds them", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, queues, clock, deadLettered } = pipeline;
    await deadLetter(3);
    const operationId = await start("discard");
    await queues.receive("normal", 30);
    const startedAt = clock.now();
    expect(await finish(operationId)).toMatchObject({ status: "completed", done: 3 });
    expect(deadLettered()).toEqual([]);
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(30_000);
  });

  test("the last step waits a little for messages that cannot be found", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, queues, clock } = pipeline;
    await deadLetter(3);
    const operationId = await start("discard");
    queues.deadLettersOf("normal").splice(0);
    const startedAt = clock.now();
    expect(await finish(operationId)).toMatchObject({ status: "completed", done: 3 });
    expect(clock.now() - startedAt).toBeLessThan(12_000);
  });

  test("the last step leaves messages that come too late to a later sweep", async () => {
    const { deadLetter, start, run, view, queues, clock, deadLettered } = operationsPipeline();
    await deadLetter(1);
    const operationId = await start("discard");
    const late = queues.deadLettersOf("normal").splice(0);
    clock.after(20_000, () => queues.deadLettersOf("normal").push(...late));
    await run();
    expect(await view(operationId)).toMatchObject({ status: "completed", done: 1 });
    expect(clock.now()).toBeGreaterThan(20_000);
    expect(deadLettered()).toEqual([]);
  });

  test("the last step does not wait for messages that another operation's sweep deleted", async () => {
    const { deadLetter, start, run, view, queues, clock, deadLettered } = operationsPipeline();
    const [held] = await deadLetter(1);
    await queues.receive("normal", 600);
    const [first, second] = await deadLetter(2);
    const operations = [
      await start("discard", { failedAfter: first?.dead_letter_at, failedBefore: second?.dead_letter_at }),
      await start("discard", { failedAfter: second?.dead_letter_at }),
    ];
    const startedAt = clock.now();
    await run();
    for (const id of operations) expect(await view(id)).toMatchObject({ status: "completed", matched: 1, done: 1 });
    expect(deadLettered()).toEqual([held?.task_id]);
    expect(clock.now() - startedAt).toBeLessThan(5_000);
  });

  test("the last step gives up on messages that are held for too long", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, start, finish, queues, clock } = pipeline;
    await deadLetter(1);
    const operationId = await start("discard");
    await queues.receive("normal", 600);
    const startedAt = clock.now();
    expect(await finish(operationId)).toMatchObject({ status: "completed", done: 1 });
    expect(clock.now() - startedAt).toBeLessThan(60_000);
  });
});
