import { describe, expect, test } from "vitest";
import {
  errorFingerprint,
  listDeadLetters,
  matchByFilter,
  maxDeadLetters,
} from "../../../src/core/control/find-dead-letters.ts";
import { groupDeadLetters } from "../../../src/core/control/group-dead-letters.ts";
import { iso, type TaskRecord } from "../../../src/core/model/record.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { newRecord } from "../../support/records.ts";

/** A pipeline with dead letters of the given errors, one a second, oldest first. */
async function withErrors(...errors: (readonly [type: string, error: string])[]) {
  const pipeline = memoryPipeline();
  const deadLetters: TaskRecord[] = [];
  for (const [type, error] of errors) {
    await pipeline.clock.advance(1_000);
    const now = iso(pipeline.clock.now());
    const failed = { status: "failed", dead_letter_at: now, first_failed_at: now } as const;
    const record = newRecord({ ...failed, type, error, error_type: "Error", error_kind: "permanent" });
    await pipeline.records.create(record, now);
    deadLetters.push(record);
  }
  return { ...pipeline, deadLetters };
}

describe("groups of dead letters", () => {
  test("dead letters of one type and error are one group, the largest first", async () => {
    const { ports, deadLetters } = await withErrors(
      ["order.ship", "order 17 has no address"],
      ["order.ship", "the printer is out of paper"],
      ["mail.send", "order 17 has no address"],
      ["order.ship", "order 4711 has no address"],
    );
    const [first, printer, mail, newest] = deadLetters;
    const { groups, complete } = await groupDeadLetters(ports, "acme", {});
    expect(complete).toBe(true);
    expect(groups[0]).toEqual({
      fingerprint: errorFingerprint({ error_type: "Error", error: "order 9 has no address" }),
      type: "order.ship",
      error_type: "Error",
      error_kind: "permanent",
      error: "order 4711 has no address",
      count: 2,
      first_failed_at: first?.dead_letter_at,
      last_failed_at: newest?.dead_letter_at,
      task_id: newest?.task_id,
    });
    expect(groups.slice(1).map(({ task_id, count }) => [task_id, count])).toEqual([
      [mail?.task_id, 1],
      [printer?.task_id, 1],
    ]);
  });

  test("a group's fingerprint finds its dead letters in the list and for operations", async () => {
    const { ports, deadLetters } = await withErrors(
      ["a", "order 17 is late"],
      ["a", "no paper"],
      ["a", "order 18 is late"],
    );
    const { groups } = await groupDeadLetters(ports, "acme", {});
    const filter = { fingerprint: groups[0]?.fingerprint };
    const page = await listDeadLetters(ports, "acme", filter, { limit: 100, from: undefined });
    const expected = [deadLetters[2]?.task_id, deadLetters[0]?.task_id];
    expect(page.items.map(({ task_id }) => task_id)).toEqual(expected);
    expect(new Set(page.items.map(({ fingerprint }) => fingerprint))).toEqual(new Set([filter.fingerprint]));
    expect((await matchByFilter(ports, "acme", filter)).map(({ task_id }) => task_id)).toEqual(expected);
    expect((await groupDeadLetters(ports, "acme", filter)).groups).toHaveLength(1);
  });

  test("nothing of another tenant is counted", async () => {
    const { ports } = await withErrors(["a", "late"]);
    expect(await groupDeadLetters(ports, "globex", {})).toEqual({ groups: [], complete: true });
  });

  test("no more are read than an operation can have, and the answer says so", async () => {
    const { ports, records, clock } = memoryPipeline();
    let read = 0;
    records.listDeadLetters = async ({ limit }) => {
      read += limit;
      const failed = { status: "failed", dead_letter_at: iso(clock.now()) } as const;
      return { items: Array.from({ length: limit }, () => newRecord(failed)), next: "more" };
    };
    const { groups, complete } = await groupDeadLetters(ports, "acme", {});
    expect({ count: groups[0]?.count, complete, read }).toEqual({
      count: maxDeadLetters,
      complete: false,
      read: maxDeadLetters,
    });
  });

  test("no page is read when the time is over, and the answer says so", async () => {
    const { ports, records, clock } = memoryPipeline();
    let pages = 0;
    records.listDeadLetters = async () => {
      pages += 1;
      await clock.advance(2_000);
      return { items: [newRecord({ status: "failed", dead_letter_at: iso(clock.now()) })], next: "more" };
    };
    expect(await groupDeadLetters(ports, "acme", {})).toMatchObject({ groups: [{ count: 2 }], complete: false });
    expect(pages).toBe(2);
  });
});
