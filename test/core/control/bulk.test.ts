import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { discardOne } from "../../../src/core/control/act-on-task.ts";
import { cancelOperation } from "../../../src/core/control/change-operation.ts";
import { cancel, retry } from "../../../src/core/control/control.ts";
import type { TaskFilter } from "../../../src/core/control/list.ts";
import {
  matchTasksByFilter,
  matchTasksByIds,
  maxTasks,
  type TaskAction,
} from "../../../src/core/control/match-tasks.ts";
import { loadState } from "../../../src/core/control/operation.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import type { TaskRecord } from "../../../src/core/model/record.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { newRecord } from "../../support/records.ts";

type Pipeline = ReturnType<typeof operationsPipeline>;

const ids = (items: readonly { task_id: string }[]) => items.map(({ task_id }) => task_id).toSorted();

const now = ({ recordOf }: Pipeline, records: readonly TaskRecord[]) => Promise.all(records.map(recordOf));

const accepted = ({ accept }: Pipeline, count: number, more: object = {}) =>
  Promise.all(Array.from({ length: count }, (_, n) => accept({ type: "order.ship", input: { n }, ...more })));

/** Starts an operation on the tasks that a filter selects. */
async function begin(pipeline: Pipeline, action: TaskAction, filter: TaskFilter = {}, perSecond?: number) {
  const matched = await matchTasksByFilter(pipeline.ports, "acme", action, filter);
  return pipeline.start(action, {}, { matched, perSecond });
}

const keyOf = (task_id: string) => ({ tenant_id: "acme", task_id });

describe("matching tasks", () => {
  test("a cancel matches tasks that have not ended, and no operation", async () => {
    const pipeline = operationsPipeline();
    const { ports, accept, deadLetter, start } = pipeline;
    await deadLetter(1);
    const waiting = await accepted(pipeline, 2);
    const later = await accept({ type: "order.ship", input: { n: 1 }, delay_seconds: 60 });
    const [gone = newRecord()] = await accepted(pipeline, 1);
    await cancel(ports, gone);
    await start("discard");
    expect(ids(await matchTasksByFilter(ports, "acme", "cancel", {}))).toEqual(ids([...waiting, later]));
    expect(ids(await matchTasksByFilter(ports, "acme", "cancel", { status: "scheduled" }))).toEqual(ids([later]));
    expect(await matchTasksByFilter(ports, "globex", "cancel", {})).toEqual([]);
  });

  test("a cancel does not match a type that cannot be cancelled, nor a task that has expired", async () => {
    const pipeline = operationsPipeline();
    const { ports, accept, clock } = pipeline;
    await accept({ type: "order.ship", input: { n: 1 }, expires_in_seconds: 10 });
    const [mail] = await accepted(pipeline, 1, { type: "mail.send" });
    await clock.advance(11_000);
    const types = new Map(
      [...ports.types].map(([name, type]) => [name, { ...type, cancellable: name !== "mail.send" }]),
    );
    expect(await matchTasksByFilter({ ...ports, types }, "acme", "cancel", {})).toEqual([]);
    expect(ids(await matchTasksByFilter(ports, "acme", "cancel", {}))).toEqual([mail?.task_id]);
  });

  test("a retry matches failed tasks, also discarded ones", async () => {
    const { ports, deadLetter, accept } = operationsPipeline();
    const [kept = newRecord(), discarded = newRecord()] = await deadLetter(2);
    await discardOne(ports, { ...keyOf(discarded.task_id), dead_letter_at: discarded.dead_letter_at ?? "" });
    await accept({ type: "order.ship", input: { n: 1 } });
    expect(ids(await matchTasksByFilter(ports, "acme", "retry", {}))).toEqual(ids([kept, discarded]));
  });

  test.for<[string, TaskFilter]>([
    ["type", { type: "mail.send" }],
    ["tier", { priority: "low" }],
    ["tags", { tags: { order: "7", kind: "a" } }],
    ["status", { status: "scheduled" }],
  ])("the filter selects by %s", async ([, filter]) => {
    const pipeline = operationsPipeline();
    const { ports, accept } = pipeline;
    await accept({ type: "order.ship", input: { n: 1 }, tags: { order: "7" } });
    const more = { priority: "low", tags: { order: "7", kind: "a" }, delay_seconds: 60 };
    const wanted = await accept({ type: "mail.send", input: { n: 1 }, ...more });
    expect(ids(await matchTasksByFilter(ports, "acme", "cancel", filter))).toEqual([wanted.task_id]);
  });

  test("the filter selects by the time of the submit", async () => {
    const pipeline = operationsPipeline();
    const { ports, clock } = pipeline;
    const made: TaskRecord[] = [];
    for (let n = 0; n < 3; n++) {
      made.push(...(await accepted(pipeline, 1)));
      await clock.advance(1_000);
    }
    const filter = { createdAfter: made[1]?.created_at, createdBefore: made[2]?.created_at };
    expect(ids(await matchTasksByFilter(ports, "acme", "cancel", filter))).toEqual([made[1]?.task_id]);
  });

  test("matching by filter is refused when its time span has more tasks than an operation reads", async () => {
    const { ports, records } = operationsPipeline();
    records.list = async () => ({ items: Array.from({ length: 100 }, () => newRecord()), next: "more" });
    await expect(matchTasksByFilter(ports, "acme", "cancel", { type: "x" })).rejects.toMatchObject({
      code: "invalid_input",
      detail: expect.stringMatching(`${maxTasks}.*created_after`),
    });
  });

  test("matching by ids returns the tenant's tasks among them", async () => {
    const pipeline = operationsPipeline();
    const { ports, accept } = pipeline;
    const [mine] = await accepted(pipeline, 1);
    const identity = { tenantId: "globex", principal: "gina", role: "operator" } as const;
    const foreign = await accept({ type: "order.ship", input: { n: 1 } }, { identity });
    const given = [mine?.task_id ?? "", foreign.task_id, randomUUID()];
    expect(ids(await matchTasksByIds(ports, "acme", "cancel", given))).toEqual([mine?.task_id]);
  });
});

describe("a cancel of many tasks", () => {
  test("each matched task ends, and is never started", async () => {
    const pipeline = operationsPipeline();
    const { finish, broken, run } = pipeline;
    const orders = await accepted(pipeline, 25);
    const mails = await accepted(pipeline, 2, { type: "mail.send" });
    const operationId = await begin(pipeline, "cancel", { type: "order.ship" });
    expect(await finish(operationId)).toEqual({
      operation_id: operationId,
      status: "completed",
      matched: 25,
      done: 25,
      skipped: 0,
      failed: 0,
    });
    for (const record of await now(pipeline, orders)) expect(record).toMatchObject({ status: "cancelled" });
    for (const record of await now(pipeline, mails)) expect(record).toMatchObject({ status: "pending" });
    for (let batch = 0; batch < 4; batch++) await run("normal");
    expect(broken.starts.toSorted()).toEqual(ids(mails));
  });

  test("a task that has ended in between counts as skipped", async () => {
    const pipeline = operationsPipeline();
    const { finish, run, broken } = pipeline;
    broken.mended = true;
    await accepted(pipeline, 1);
    const operationId = await begin(pipeline, "cancel");
    await run("normal");
    expect(await finish(operationId)).toMatchObject({ status: "completed", matched: 1, done: 0, skipped: 1 });
  });

  test("a task that was retried in between is another round, which stays", async () => {
    const pipeline = operationsPipeline();
    const { finish, run, ports, recordOf } = pipeline;
    const [record = newRecord()] = await accepted(pipeline, 1);
    const operationId = await begin(pipeline, "cancel");
    await run("normal");
    await retry(ports, await recordOf(record));
    expect(await finish(operationId)).toMatchObject({ done: 0, skipped: 1 });
    expect(await recordOf(record)).toMatchObject({ status: "pending", round: 2 });
  });
});

describe("a retry of many tasks", () => {
  test("each matched task has one new round, and its message leaves the DLQ", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, finish, deadLettered } = pipeline;
    const orders = await deadLetter(12);
    const mails = await deadLetter(2, { type: "mail.send" });
    const operationId = await begin(pipeline, "retry", { type: "order.ship" }, 10);
    expect(await finish(operationId)).toMatchObject({ status: "completed", matched: 12, done: 12 });
    for (const record of await now(pipeline, orders)) expect(record).toMatchObject({ status: "pending", round: 2 });
    expect(deadLettered().toSorted()).toEqual(ids(mails));
  });

  test("a task that somebody else has retried counts as skipped, also when it has failed again", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, finish, run, ports, recordOf } = pipeline;
    const [record = newRecord()] = await deadLetter(1);
    const operationId = await begin(pipeline, "retry");
    await retry(ports, await recordOf(record));
    await run("normal");
    expect(await recordOf(record)).toMatchObject({ status: "failed", round: 2 });
    expect(await finish(operationId)).toMatchObject({ done: 0, skipped: 1 });
    expect(await recordOf(record)).toMatchObject({ status: "failed", round: 2 });
  });
});

describe("a cancelled operation", () => {
  const cancelled = async (pipeline: Pipeline, operationId: string) =>
    cancelOperation(pipeline.ports, await pipeline.recordOf(keyOf(operationId)), "corr-1");

  /** Lets a worker begin with an operation; the test moves time on. */
  const begun = ({ work, clock }: Pipeline) => {
    let over = false;
    const working = work("high").finally(() => {
      over = true;
    });
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms && !over; passed += 100) await clock.advance(100);
    };
    return { working, pass };
  };

  test("one that waits ends at once, and changes nothing", async () => {
    const pipeline = operationsPipeline();
    const tasks = await accepted(pipeline, 3);
    const operationId = await begin(pipeline, "cancel");
    expect(await cancelled(pipeline, operationId)).toMatchObject({ status: "cancelled" });
    expect(await pipeline.finish(operationId)).toMatchObject({ status: "cancelled", matched: 3, done: 0 });
    for (const record of await now(pipeline, tasks)) expect(record).toMatchObject({ status: "pending" });
    expect(await cancelled(pipeline, operationId)).toMatchObject({ status: "cancelled" });
  });

  test("one that runs stops within its window, and counts exactly what it has done", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, view, clock, run, deadLettered } = pipeline;
    const deadLetters = await deadLetter(40);
    const operationId = await begin(pipeline, "retry", {}, 1);
    const { pass, working } = begun(pipeline);
    await pass(14_000);
    expect(await cancelled(pipeline, operationId)).toMatchObject({ status: "processing" });
    await pass(60_000);
    await working;
    const seen = await view(operationId);
    const again = (await now(pipeline, deadLetters)).filter(({ round }) => round === 2);
    expect(seen).toMatchObject({ status: "cancelled", matched: 40, done: again.length, skipped: 0, failed: 0 });
    expect(again.length).toBeGreaterThan(10);
    expect(again.length).toBeLessThan(25);
    // The sweep that it asked for takes the messages of these out of the DLQ.
    await clock.advance(10_000);
    await run("high");
    expect(deadLettered()).toHaveLength(40 - again.length);
  });

  test("one whose queue is down counts the tasks that it could not change as failed", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, view, queues } = pipeline;
    await deadLetter(3);
    const operationId = await begin(pipeline, "retry");
    const send = queues.send.bind(queues);
    queues.send = async (message) => {
      if (message.envelope.type === "order.ship") throw new PortUnavailable("the queue");
      return send(message);
    };
    const { pass, working } = begun(pipeline);
    await pass(500);
    await cancelled(pipeline, operationId);
    await pass(60_000);
    await working;
    // Its attempt may give up before it hears of the cancel: then nothing counts the tasks.
    expect(await view(operationId)).toMatchObject({ status: "cancelled", matched: 3, done: 0, skipped: 0 });
  });

  test("what an attempt has done that died is counted from the tasks themselves", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, view, ports, recordOf } = pipeline;
    const deadLetters = await deadLetter(5);
    const operationId = await begin(pipeline, "retry");
    const key = keyOf(operationId);
    await ports.records.savePart(key, "operation", { ...(await loadState(ports.records, key)), window: 5 }, 0);
    for (const record of deadLetters.slice(0, 2)) await retry(ports, await recordOf(record));
    expect(await view(operationId)).toMatchObject({ status: "pending", done: 0 });
    await cancelled(pipeline, operationId);
    expect(await view(operationId)).toMatchObject({ status: "cancelled", matched: 5, done: 2, skipped: 0 });
  });

  test("what an attempt has done that died is counted, also when the next one is cancelled before it comes to that", async () => {
    const pipeline = operationsPipeline();
    const { deadLetter, view, ports, recordOf } = pipeline;
    const deadLetters = await deadLetter(8);
    const operationId = await begin(pipeline, "retry", {}, 1);
    const key = keyOf(operationId);
    await ports.records.savePart(key, "operation", { ...(await loadState(ports.records, key)), window: 8 }, 0);
    // The list is newest first: these are the last ones of the window.
    for (const record of deadLetters.slice(0, 2)) await retry(ports, await recordOf(record));
    const { pass, working } = begun(pipeline);
    await pass(1_500);
    await cancelled(pipeline, operationId);
    await pass(60_000);
    await working;
    const again = (await now(pipeline, deadLetters)).filter(({ round }) => round === 2);
    expect(again.length).toBeLessThan(8);
    expect(await view(operationId)).toMatchObject({ status: "cancelled", done: again.length, skipped: 0, failed: 0 });
  });

  test("one that has ended is a conflict", async () => {
    const pipeline = operationsPipeline();
    const operationId = await begin(pipeline, "cancel");
    await pipeline.finish(operationId);
    await expect(cancelled(pipeline, operationId)).rejects.toMatchObject({ code: "conflict" });
  });
});
