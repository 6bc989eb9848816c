import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type DeadLetterKey, discardOne, replayOne, stillThere } from "../../../src/core/control/act-on-task.ts";
import {
  type DeadLetterFilter,
  listDeadLetters,
  matchByFilter,
  matchByIds,
  maxDeadLetters,
} from "../../../src/core/control/find-dead-letters.ts";
import { iso, type TaskRecord } from "../../../src/core/model/record.ts";
import { operationsPipeline } from "../../support/operations-pipeline.ts";
import { envelopeOf, newRecord } from "../../support/records.ts";

const stranger = { tenantId: "globex", principal: "gina", role: "operator" } as const;

const letterOf = (record: TaskRecord): DeadLetterKey => ({
  tenant_id: record.tenant_id,
  task_id: record.task_id,
  dead_letter_at: record.dead_letter_at ?? "",
});

const list = async ({ ports }: ReturnType<typeof operationsPipeline>, filter: DeadLetterFilter = {}) =>
  (await listDeadLetters(ports, "acme", filter, { limit: 100, from: undefined })).items;

const ids = (items: readonly { task_id: string }[]) => items.map(({ task_id }) => task_id);

describe("the list", () => {
  test("the list shows each dead letter's cause and input, newest first", async () => {
    const pipeline = operationsPipeline();
    const [first, second] = await pipeline.deadLetter(2);
    const deadLetters = await list(pipeline);
    expect(ids(deadLetters)).toEqual([second?.task_id, first?.task_id]);
    expect(deadLetters[1]).toEqual({
      task_id: first?.task_id,
      type: "order.ship",
      tenant_id: "acme",
      priority: "normal",
      attempts: 1,
      error: "broken",
      error_type: "PermanentError",
      error_kind: "permanent",
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
      first_failed_at: first?.dead_letter_at,
      last_failed_at: first?.dead_letter_at,
      needs_review: false,
      caused_by: null,
      stack: expect.stringMatching(/^PermanentError: broken\n {4}at handler \(.*operations-pipeline\.ts:\d+:\d+\)/),
      input: { n: 0 },
    });
  });

  test.for<[string, DeadLetterFilter, number]>([
    ["type", { type: "mail.send" }, 1],
    ["tier", { priority: "low" }, 1],
    ["error type", { errorType: "PermanentError" }, 3],
    ["another error type", { errorType: "Error" }, 0],
    ["error kind", { errorKind: "permanent" }, 3],
    ["another error kind", { errorKind: "business_rule" }, 0],
    ["type and tier", { type: "mail.send", priority: "low" }, 0],
  ])("the list filters by %s", async ([, filter, count]) => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(1);
    await pipeline.deadLetter(1, { type: "mail.send" });
    await pipeline.deadLetter(1, { tier: "low" });
    expect(await list(pipeline, filter)).toHaveLength(count);
  });

  test("failed_after includes its time, and failed_before excludes it", async () => {
    const pipeline = operationsPipeline();
    const [first, second, third] = await pipeline.deadLetter(3);
    const span = { failedAfter: first?.dead_letter_at, failedBefore: third?.dead_letter_at };
    expect(ids(await list(pipeline, span))).toEqual([second?.task_id, first?.task_id]);
  });

  test("the pages of the list have no gap and no repeat", async () => {
    const { ports, deadLetter } = operationsPipeline();
    const deadLettered = await deadLetter(5);
    const seen: string[] = [];
    let from: string | undefined;
    do {
      const page = await listDeadLetters(ports, "acme", {}, { limit: 2, from });
      seen.push(...ids(page.items));
      from = page.next;
    } while (from !== undefined);
    expect(seen).toEqual(ids(deadLettered).toReversed());
  });

  test("a page of large inputs ends before its answer is too large for Lambda, and the rest follows", async () => {
    const pipeline = operationsPipeline();
    const records = await pipeline.deadLetter(100);
    const purgeAt = pipeline.clock.now() / 1000 + 86_400;
    const input = { lines: Array.from({ length: 7_900 }, () => '"a') };
    expect(JSON.stringify(input).length).toBeGreaterThan(47_000);
    for (const record of records)
      await pipeline.records.savePart(record, "envelope", envelopeOf(record, input), purgeAt);
    const found: string[] = [];
    let from: string | undefined;
    let pages = 0;
    do {
      const page = await listDeadLetters(pipeline.ports, "acme", {}, { limit: 100, from });
      const body = JSON.stringify({ dead_letters: page.items, next_cursor: "x".repeat(200) });
      expect(Buffer.byteLength(JSON.stringify({ statusCode: 200, headers: {}, body }))).toBeLessThan(5_100_000);
      expect(page.items.length).toBeGreaterThan(0);
      found.push(...ids(page.items));
      from = page.next;
      pages += 1;
    } while (from !== undefined);
    expect(found).toEqual(ids(records.toReversed()));
    expect(pages).toBeLessThan(5);
  });

  test("the list has nothing of another tenant", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(1, { identity: stranger });
    expect(await list(pipeline)).toEqual([]);
  });

  test("the list leaves out entries that an outdated index still shows", async () => {
    const pipeline = operationsPipeline();
    const again = newRecord({ status: "failed", dead_letter_at: "2027-01-01T00:00:02.000Z" });
    const left = newRecord({ status: "pending" });
    pipeline.records.listDeadLetters = async () => ({ items: [again, left, again], next: undefined });
    expect(ids(await list(pipeline))).toEqual([again.task_id]);
    const from = `2027-01-01T00:00:01.000Z#${randomUUID()}`;
    expect((await listDeadLetters(pipeline.ports, "acme", {}, { limit: 9, from })).items).toEqual([]);
  });

  test("the list leaves out records past their retention", async () => {
    const pipeline = operationsPipeline();
    await pipeline.deadLetter(1);
    await pipeline.clock.advance(14 * 86_400_000 - 2_000);
    expect(await list(pipeline)).toHaveLength(1);
    await pipeline.clock.advance(4_000);
    expect(await list(pipeline)).toEqual([]);
  });
});

describe("matching", () => {
  test("matching by filter returns every dead letter that fits", async () => {
    const { ports, deadLetter } = operationsPipeline();
    const mails = await deadLetter(3, { type: "mail.send" });
    await deadLetter(2);
    const matched = await matchByFilter(ports, "acme", { type: "mail.send" });
    expect(ids(matched)).toEqual(ids(mails).toReversed());
  });

  test("matching by filter is refused when it would read more than an operation can finish", async () => {
    const { ports, records } = operationsPipeline();
    const page = Array.from({ length: 100 }, () =>
      newRecord({ status: "failed", dead_letter_at: iso(0), type: "other" }),
    );
    records.listDeadLetters = async () => ({ items: page, next: "more" });
    await expect(matchByFilter(ports, "acme", { type: "mail.send" })).rejects.toMatchObject({
      code: "invalid_input",
      detail: expect.stringContaining(String(maxDeadLetters)),
    });
  });

  test("matching by ids returns the tenant's dead letters among them", async () => {
    const { ports, deadLetter, accept } = operationsPipeline();
    const [mine] = await deadLetter(1);
    const [foreign] = await deadLetter(1, { identity: stranger });
    const waiting = await accept({ input: { n: 1 } });
    const given = [mine?.task_id, foreign?.task_id, waiting.task_id, randomUUID()].map((id) => id ?? "");
    expect(ids(await matchByIds(ports, "acme", given))).toEqual([mine?.task_id]);
  });
});

/** A pipeline with one dead letter. */
async function withLetter() {
  const pipeline = operationsPipeline();
  const [record = newRecord()] = await pipeline.deadLetter(1);
  return { ...pipeline, record, deadLetter: letterOf(record) };
}

describe("replaying one", () => {
  test("replaying a dead letter starts a new round and takes it out of the list", async () => {
    const { ports, deadLetter, broken, run, recordOf, deadLetters } = await withLetter();
    broken.mended = true;
    expect(await replayOne(ports, deadLetter)).toBe("done");
    expect(await deadLetters()).toEqual([]);
    await run("normal");
    expect(await recordOf(deadLetter)).toMatchObject({ status: "completed", round: 2, attempts: 1, result: "mended" });
  });

  test("replaying a dead letter twice does nothing the second time", async () => {
    const { ports, deadLetter, recordOf } = await withLetter();
    await replayOne(ports, deadLetter);
    expect(await replayOne(ports, deadLetter)).toBe("skipped");
    expect(await recordOf(deadLetter)).toMatchObject({ round: 2 });
  });

  test("replaying does nothing to a task that has failed again since", async () => {
    const { ports, deadLetter, run, recordOf, clock } = await withLetter();
    await replayOne(ports, deadLetter);
    await clock.advance(1);
    await run("normal");
    expect(await recordOf(deadLetter)).toMatchObject({ status: "failed", round: 2 });
    expect(await replayOne(ports, deadLetter)).toBe("skipped");
  });

  test("replaying does nothing to a dead letter that was discarded", async () => {
    const { ports, deadLetter, recordOf } = await withLetter();
    await discardOne(ports, deadLetter);
    expect(await replayOne(ports, deadLetter)).toBe("skipped");
    expect(await recordOf(deadLetter)).toMatchObject({ status: "failed", round: 1 });
  });

  test("replaying fails when the input is no longer kept", async () => {
    const { ports, deadLetter } = await withLetter();
    await ports.records.savePart(deadLetter, "envelope", undefined, 0);
    expect(await replayOne(ports, deadLetter)).toBe("failed");
  });

  test("replaying does nothing to another tenant's task", async () => {
    const { ports, deadLetter, recordOf } = await withLetter();
    expect(await replayOne(ports, { ...deadLetter, tenant_id: "globex" })).toBe("skipped");
    expect(await recordOf(deadLetter)).toMatchObject({ status: "failed", round: 1 });
  });
});

describe("discarding one", () => {
  test("discarding a dead letter takes it out of the list, and its record stays failed", async () => {
    const { ports, deadLetter, record, recordOf, deadLetters } = await withLetter();
    expect(await discardOne(ports, deadLetter)).toBe("done");
    expect(await deadLetters()).toEqual([]);
    const left = await recordOf(deadLetter);
    expect(left).toMatchObject({ status: "failed", error: "broken", history: record.history });
    expect(left).not.toHaveProperty("dead_letter_at");
    expect(left).not.toHaveProperty("buried_at");
  });

  test("discarding does nothing the second time, nor to a dead letter that was replayed", async () => {
    const { ports, deadLetter } = await withLetter();
    await discardOne(ports, deadLetter);
    expect(await discardOne(ports, deadLetter)).toBe("skipped");
    const other = await withLetter();
    await replayOne(other.ports, other.deadLetter);
    expect(await discardOne(other.ports, other.deadLetter)).toBe("skipped");
    expect(await other.recordOf(other.deadLetter)).toMatchObject({ status: "pending" });
  });
});

test("a record past its retention is not a dead letter any more", async () => {
  const { ports, deadLetter, clock } = await withLetter();
  expect(await stillThere(ports, deadLetter)).toMatchObject({ task_id: deadLetter.task_id });
  await clock.advance(15 * 86_400_000);
  expect(await stillThere(ports, deadLetter)).toBeUndefined();
});
