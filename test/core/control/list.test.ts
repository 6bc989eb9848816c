import { describe, expect, test } from "vitest";
import { collect, listTasks, type TaskFilter } from "../../../src/core/control/list.ts";
import { iso, type TaskRecord } from "../../../src/core/model/record.ts";
import type { Identity } from "../../../src/core/model/words.ts";
import type { Page } from "../../../src/core/ports/tasks.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import fc from "../../support/fast-check.ts";
import { operator, submitter } from "../../support/identities.ts";
import { newRecord } from "../../support/records.ts";

const sortKey = (record: TaskRecord) => `${record.created_at}#${record.task_id}`;
const newest = (records: readonly TaskRecord[]) => records.toSorted((a, b) => (sortKey(a) < sortKey(b) ? 1 : -1));
const ids = (records: readonly TaskRecord[]) => records.map(({ task_id }) => task_id);

/** Follows the pages to the end. */
async function all(read: (from: string | undefined) => Promise<Page<TaskRecord>>) {
  const pages: TaskRecord[][] = [];
  let from: string | undefined;
  do {
    const page = await read(from);
    pages.push(page.items);
    from = page.next;
  } while (from !== undefined && pages.length < 1000);
  return { pages, items: pages.flat() };
}

describe("collecting pages", () => {
  const records = newest(Array.from({ length: 40 }, (_, index) => newRecord({ created_at: iso(index * 1000) })));

  /** A source whose pages are as short as the sizes say. */
  const source = (sizes: readonly number[]) => {
    let reads = 0;
    return async (from: string | undefined, limit: number): Promise<Page<TaskRecord>> => {
      const rest = records.filter((record) => from === undefined || sortKey(record) < from);
      const items = rest.slice(0, Math.min(limit, sizes[reads++ % sizes.length] ?? limit));
      const last = items.at(-1);
      return { items, next: items.length < rest.length ? (last === undefined ? from : sortKey(last)) : undefined };
    };
  };

  test("every wanted record is collected once, newest first, whatever the pages and the limit", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 7 }),
        async (sizes, limit, nth) => {
          const wanted = (record: TaskRecord) => (Date.parse(record.created_at) / 1000) % nth === 0;
          const read = source(sizes);
          const { pages, items } = await all((from) => collect(read, wanted, sortKey, { limit, from }));
          expect(ids(items)).toEqual(ids(records.filter(wanted)));
          for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("at most five pages are read at once, and the next call continues there", async () => {
    let reads = 0;
    const read = source([2]);
    const counted = (from: string | undefined, limit: number) => {
      reads += 1;
      return read(from, limit);
    };
    const page = await collect(counted, () => false, sortKey, { limit: 10, from: undefined });
    expect(reads).toBe(5);
    expect(page).toEqual({ items: [], next: sortKey(records[9] as TaskRecord) });
  });

  test("reading stops when the page is full", async () => {
    let reads = 0;
    const read = source([10]);
    const page = await collect(
      (from, limit) => {
        reads += 1;
        return read(from, limit);
      },
      () => true,
      sortKey,
      { limit: 10, from: undefined },
    );
    expect([reads, page.items.length]).toEqual([1, 10]);
  });
});

describe("listing tasks", () => {
  const later = "2027-01-01T13:00:00.000Z";

  async function listed(records: TaskRecord[], filter: TaskFilter = {}, identity: Identity = operator) {
    const ports = { records: new MemoryRecords(), clock: new FakeClock(Date.parse("2027-01-01T12:00:00.000Z")) };
    for (const record of records) await ports.records.create(record, iso(ports.clock.now()));
    const { items } = await all((from) => listTasks(ports, identity, filter, { limit: 3, from }));
    return ids(items);
  }

  test("an operator sees the tenant's tasks, newest first", async () => {
    const mine = Array.from({ length: 10 }, (_, index) => newRecord({ created_at: iso(index) }));
    const theirs = newRecord({ tenant_id: "globex" });
    expect(await listed([...mine, theirs])).toEqual(ids(newest(mine)));
  });

  test("a submitter sees what it submitted itself as a submitter", async () => {
    const own = newRecord({ requested_by: "sam", own_list: true });
    const others = [
      newRecord(),
      newRecord({ requested_by: "sue", own_list: true }),
      newRecord({ requested_by: "sam" }),
    ];
    expect(await listed([own, ...others], {}, submitter)).toEqual([own.task_id]);
  });

  test("each filter counts, and all together", async () => {
    const wanted = newRecord({ type: "a", priority: "low", status: "failed", tags: { x: "1", y: "2" } });
    const base = { type: "a", priority: "low", status: "failed", tags: { x: "1", y: "2" } } as const;
    const others = [
      newRecord({ ...base, type: "b" }),
      newRecord({ ...base, priority: "high" }),
      newRecord({ ...base, status: "completed" }),
      newRecord({ ...base, tags: { x: "1" } }),
      newRecord({ ...base, tags: { x: "1", y: "3" } }),
      newRecord({ type: "a", priority: "low", status: "failed" }),
      newRecord({ ...base, created_at: "2026-01-01T00:00:00.000Z" }),
      newRecord({ ...base, created_at: later }),
    ];
    const filter = { ...base, createdAfter: wanted.created_at, createdBefore: later };
    expect(await listed([wanted, ...others], filter)).toEqual([wanted.task_id]);
  });

  test("the status filter uses the status as of now", async () => {
    const scheduled = newRecord({ run_at: later, due_at: later });
    const expired = newRecord({ start_by: "2027-01-01T11:00:00.000Z" });
    const pending = newRecord();
    const records = [scheduled, expired, pending];
    expect(await listed(records, { status: "scheduled" })).toEqual([scheduled.task_id]);
    expect(await listed(records, { status: "expired" })).toEqual([expired.task_id]);
    expect(await listed(records, { status: "pending" })).toEqual([pending.task_id]);
  });

  test("a task past its purge time is not listed, although the table still has it", async () => {
    const kept = newRecord();
    const purged = newRecord({ purge_at: Date.parse("2027-01-01T12:00:00.000Z") / 1000 });
    expect(await listed([kept, purged])).toEqual([kept.task_id]);
  });
});
