import { describe, expect, test, vi } from "vitest";
import { cancel, extend, retry } from "../../../../src/core/control/control.ts";
import type { TaskRecord } from "../../../../src/core/model/record.ts";
import { attemptsOf } from "../../../../src/core/pipeline/end/view.ts";
import type { Part } from "../../../../src/core/ports/tasks.ts";
import { bytesOf } from "../../../../src/util/item-bytes.ts";
import { itemBytes, writeUnits } from "../../../support/item-bytes.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(operations);

/** A stack of 2,000 characters. */
const stackOf = (message: string): string =>
  `Error: ${message}\n${"    at call (tasks/call.ts:1:1)\n".repeat(70)}`.slice(0, 2_000);

/** What an attempt does: it throws an error with this message, or completes. */
type Deed = { fail: string } | { sleep: number } | "complete";

/** A pipeline whose attempts do the given deeds, in order. */
function doing(deeds: readonly Deed[], more: object = {}) {
  let calls = 0;
  const handler = async (_: unknown, task: { sleep(seconds: number): Promise<void> }) => {
    const deed = deeds[calls++] ?? "complete";
    if (deed === "complete") return "done";
    if ("fail" in deed) throw new Error(deed.fail);
    await task.sleep(deed.sleep);
    return "done";
  };
  const pipeline = memoryPipeline([typeOf(handler as never, more)]);
  pipeline.ports.stackOf = async (error) => stackOf((error as Error).message);
  return { ...pipeline, units: watchWrites(pipeline) };
}

/**
 * Counts the write units of changes and parts. After each change, all parts of the history must outlive the record.
 */
function watchWrites({ records }: Pipeline) {
  const units = { changes: 0, parts: 0 };
  const partsOf = ({ round, history }: TaskRecord): Part[] => [
    ...history
      .filter(({ number, stack_of }) => number === stack_of)
      .map(({ number }) => `stack#${round}#${number}` as const),
    ...Array.from({ length: round - 1 }, (_, index) => `round#${index + 1}` as const),
  ];
  const [change, savePart] = [records.change.bind(records), records.savePart.bind(records)];
  vi.spyOn(records, "change").mockImplementation(async (key, made) => {
    const before = await records.get(key);
    const changed = await change(key, made);
    const [was, is] = [before, changed.record].map((record) => (record === undefined ? 0 : itemBytes(record)));
    units.changes += writeUnits(Math.max(was ?? 0, is ?? 0));
    if (changed.record !== undefined) {
      const { purge_at } = changed.record;
      const gone = partsOf(changed.record).filter((part) => (records.purgeAtOf(key, part) ?? 0) < purge_at);
      expect(gone, "parts that are deleted before their record").toEqual([]);
    }
    return changed;
  });
  vi.spyOn(records, "savePart").mockImplementation((key, part, value, purgeAt) => {
    units.parts += writeUnits(bytesOf(typeof value === "string" ? value : JSON.stringify(value)) + 120);
    return savePart(key, part, value, purgeAt);
  });
  return units;
}

const failures = (count: number, text = (number: number) => `failure ${number}`): Deed[] =>
  Array.from({ length: count }, (_, index) => ({ fail: text(index + 1) }));

const stacksOf = async (pipeline: Pipeline, record: TaskRecord) =>
  (await attemptsOf(pipeline, await pipeline.recordOf(record), { stacks: true })).map(({ stack }) => stack);

describe("what stacks of 2 KB cost", () => {
  // With all stacks in the record it was 9, 56 and 971.
  test.each([
    ["1 attempt", failures(1), { changes: 7, parts: 2 }],
    ["4 attempts that fail alike", failures(4, () => "down"), { changes: 30, parts: 2 }],
    ["4 attempts that fail each in its own way", failures(4), { changes: 30, parts: 11 }],
    ["20 attempts that fail alike", failures(20, () => "down"), { changes: 209, parts: 18 }],
    ["20 attempts that fail each in its own way", failures(20), { changes: 211, parts: 75 }],
  ])("%s", async (_, deeds, most) => {
    const { accept, drain, units, recordOf } = doing(deeds);
    const record = await accept({ max_attempts: deeds.length });
    await drain();
    expect(await recordOf(record)).toMatchObject({ status: "failed", attempts: deeds.length });
    expect(units).toEqual(most);
  });

  test("a task that fails once, and one that never fails, store no stack beside the record", async () => {
    for (const deeds of [failures(1), []]) {
      const { accept, drain, records } = doing(deeds);
      await accept();
      await drain();
      const parts = vi.mocked(records.savePart).mock.calls.map(([, part]) => part);
      expect(parts.filter((part) => part.startsWith("stack#"))).toEqual([]);
    }
  });
});

describe("who reads the attempts sees every stack", () => {
  test("alike or not, in each round", async () => {
    const messages = ["a", "a", "b", "a", "a", "c", "c", "b"];
    const pipeline = doing(messages.map((fail) => ({ fail })));
    const record = await pipeline.accept({ max_attempts: 5 });
    await pipeline.drain();
    expect(await stacksOf(pipeline, record)).toEqual(messages.slice(0, 5).map(stackOf));
    await retry(pipeline.ports, await pipeline.recordOf(record));
    await pipeline.drain();
    const ended = await pipeline.recordOf(record);
    expect(ended).toMatchObject({ status: "completed", round: 2 });
    expect(await stacksOf(pipeline, record)).toEqual([...messages.map(stackOf), undefined]);
    // One in the record, the rest beside it: two of the first round, one of this one.
    expect(ended.history.filter(({ stack }) => stack !== undefined)).toHaveLength(1);
    const stored = vi.mocked(pipeline.records.savePart).mock.calls.map(([, part]) => part);
    expect(new Set(stored.filter((part) => part.startsWith("stack#")))).toEqual(
      new Set(["stack#1#2", "stack#1#3", "stack#2#2"]),
    );
  });

  test("who does not ask for stacks reads none", async () => {
    const pipeline = doing(failures(4));
    const record = await pipeline.accept();
    await pipeline.drain();
    const ended = await pipeline.recordOf(record);
    const load = vi.spyOn(pipeline.records, "loadPart");
    await attemptsOf(pipeline, ended, { stacks: false });
    expect(load).not.toHaveBeenCalled();
    expect(await attemptsOf(pipeline, ended, { stacks: true })).toHaveLength(5);
    expect(load).toHaveBeenCalledTimes(3);
  });

  test("a history with all its stacks, of an earlier version, is read, and goes on", async () => {
    const pipeline = doing([{ fail: "third" }]);
    const record = await pipeline.accept();
    const entry = { round: 1, started_at: record.created_at, finished_at: record.created_at };
    const history = ["first", "second"].map((message, index) => {
      return { ...entry, number: index + 1, outcome: "retried" as const, stack: stackOf(message) };
    });
    await pipeline.records.change(record, { when: {}, set: { history, attempts: 2, attempts_total: 2 } });
    expect(await stacksOf(pipeline, record)).toEqual(["first", "second"].map(stackOf));
    await pipeline.drain();
    expect(await stacksOf(pipeline, record)).toEqual([...["first", "second", "third"].map(stackOf), undefined]);
  });
});

describe("stacks beside the record live as long as the record", () => {
  const day = 86_400;
  const half = { retry: { waitsSeconds: [day / 2] } };

  test("through ten days of retries, longer retentions, and another round after two weeks", async () => {
    const pipeline = doing([...failures(20), ...failures(3)], half);
    const record = await pipeline.accept({ max_attempts: 20, retention_seconds: 3_600 });
    await pipeline.drain();
    await extend(pipeline.ports, await pipeline.recordOf(record), 20 * day);
    await pipeline.clock.advance(19 * day * 1000);
    await extend(pipeline.ports, await pipeline.recordOf(record), 30 * day);
    await pipeline.clock.advance(29 * day * 1000);
    await retry(pipeline.ports, await pipeline.recordOf(record));
    await pipeline.drain();
    expect(await pipeline.recordOf(record)).toMatchObject({ status: "completed", round: 2 });
    const expected = [...failures(20), ...failures(3)].map((deed) => stackOf((deed as { fail: string }).fail));
    expect(await stacksOf(pipeline, record)).toEqual([...expected, undefined]);
  });

  test("through a sleep of months, and a cancel", async () => {
    const deeds: Deed[] = [...failures(3), { sleep: 90 * day }];
    const pipeline = doing(deeds, half);
    const record = await pipeline.accept();
    for (let hours = 0; hours < 24 * 60; hours += 12) {
      await pipeline.clock.advance(day * 500);
      await pipeline.fire();
      await pipeline.work();
    }
    const waiting = await pipeline.recordOf(record);
    expect(waiting).toMatchObject({ status: "pending", attempts: 3 });
    await extend(pipeline.ports, waiting, 60 * day);
    await pipeline.clock.advance(50 * day * 1000);
    await cancel(pipeline.ports, await pipeline.recordOf(record));
    expect(await stacksOf(pipeline, record)).toEqual([1, 2, 3].map((number) => stackOf(`failure ${number}`)));
  });
});
