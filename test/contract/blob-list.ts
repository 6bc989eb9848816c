import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BlobEntry, type BlobList, blobListShards } from "../../src/core/ports/blob.ts";

export interface BlobListUnderTest {
  list: BlobList;
  close(): Promise<void>;
}

let days = 0;

/** A day that no other test uses. */
function newDay(): string {
  days += 1;
  return new Date(Date.UTC(2027, 0, days)).toISOString().slice(0, 10);
}

/** An entry of a task's object. */
function newEntry(): BlobEntry {
  const task_id = randomUUID();
  return { key: `acme/${task_id}/result-1`, tenant_id: "acme", task_id };
}

/** An entry of an upload. */
function newUpload(): BlobEntry {
  const upload_id = randomUUID();
  return { key: `acme/uploads/${upload_id}`, tenant_id: "acme", upload_id };
}

const shards = Array.from({ length: blobListShards }, (_, shard) => shard);
const sorted = (entries: readonly BlobEntry[]) => entries.map((entry) => JSON.stringify(toSorted(entry))).sort();
const toSorted = (entry: BlobEntry) => Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1));

/** The promises of the list of objects, for every implementation. */
export function describeBlobList(name: string, make: () => Promise<BlobListUnderTest>): void {
  describe(name, () => {
    let under: BlobListUnderTest;
    let list: BlobList;
    beforeAll(async () => {
      under = await make();
      list = under.list;
    });
    afterAll(() => under.close());

    /** Reads a shard to its end, and calls `each` with every page. */
    async function shardOf(day: string, shard: number, limit: number, each = async (_page: BlobEntry[]) => {}) {
      const found: BlobEntry[] = [];
      let from: string | undefined;
      do {
        const { items, next } = await list.page(day, shard, { limit, from });
        expect(items.length).toBeLessThanOrEqual(limit);
        found.push(...items);
        await each(items);
        from = next;
      } while (from !== undefined);
      return found;
    }

    const all = async (day: string, limit = 100) =>
      (await Promise.all(shards.map((shard) => shardOf(day, shard, limit)))).flat();

    test("a day without entries has only empty shards", async () => {
      expect(await all(newDay())).toEqual([]);
    });

    test("entries are read as they were added, each in one shard of its day", async () => {
      const [day, other] = [newDay(), newDay()];
      const entries = [newEntry(), newUpload(), newEntry(), newUpload()];
      for (const entry of entries) await list.add(day, entry);
      const [elsewhere] = entries as [BlobEntry];
      await list.add(other, elsewhere);
      expect(sorted(await all(day))).toEqual(sorted(entries));
      expect(sorted(await all(other))).toEqual(sorted([elsewhere]));
    });

    test("an entry that is added twice is in the list once", async () => {
      const [day, entry] = [newDay(), newEntry()];
      await Promise.all([list.add(day, entry), list.add(day, entry)]);
      expect(await all(day)).toEqual([entry]);
    });

    test("an object has one entry for its upload, and one for each task that took it", async () => {
      const [day, upload] = [newDay(), newUpload()];
      const { key, tenant_id } = upload;
      const first = { key, tenant_id, task_id: randomUUID() };
      const second = { key, tenant_id, task_id: randomUUID() };
      for (const entry of [upload, first, second]) await list.add(day, entry);
      expect(sorted(await all(day))).toEqual(sorted([upload, first, second]));
      await list.remove(day, first);
      expect(sorted(await all(day))).toEqual(sorted([upload, second]));
    });

    test("a removed entry is gone from its day only, and a repeat does nothing", async () => {
      const [day, other, entry, kept] = [newDay(), newDay(), newEntry(), newEntry()];
      await list.add(day, entry);
      await list.add(day, kept);
      await list.add(other, entry);
      await list.remove(day, entry);
      await list.remove(day, entry);
      expect(await all(day)).toEqual([kept]);
      expect(await all(other)).toEqual([entry]);
    });

    test("the objects of one day are spread over all shards", async () => {
      const day = newDay();
      const entries = Array.from({ length: 200 }, newEntry);
      await Promise.all(entries.map((entry) => list.add(day, entry)));
      const counts = await Promise.all(shards.map(async (shard) => (await shardOf(day, shard, 100)).length));
      expect(Math.min(...counts)).toBeGreaterThan(0);
      expect(counts.reduce((sum, count) => sum + count)).toBe(200);
      expect(sorted(await all(day, 3))).toEqual(sorted(entries));
    });

    test("a shard can be read to its end while its entries are removed", async () => {
      const day = newDay();
      const entries = Array.from({ length: 60 }, newEntry);
      await Promise.all(entries.map((entry) => list.add(day, entry)));
      const found: BlobEntry[] = [];
      for (const shard of shards) {
        const removed = (page: BlobEntry[]) => Promise.all(page.map((entry) => list.remove(day, entry))).then(() => {});
        found.push(...(await shardOf(day, shard, 2, removed)));
      }
      expect(sorted(found)).toEqual(sorted(entries));
      expect(await all(day)).toEqual([]);
    });

    test("a key may have any characters", async () => {
      const day = newDay();
      const entries = ["acme/ключ 🦤#1/x", "acme%2F~\u0000/y"].map((key) => ({ ...newEntry(), key }));
      for (const entry of entries) await list.add(day, entry);
      expect(sorted(await all(day))).toEqual(sorted(entries));
    });
  });
}
