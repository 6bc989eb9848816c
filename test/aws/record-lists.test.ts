import { describe, expect, test, vi } from "vitest";
import { DynamoTable } from "../../src/aws/dynamo-table.ts";
import type { ListShards } from "../../src/aws/list-shards.ts";
import { RecordLists } from "../../src/aws/record-lists.ts";
import { tenantPartitions } from "../../src/aws/table.ts";
import { PortUnavailable } from "../../src/core/model/errors.ts";

type Item = Record<string, unknown>;

const tenant = "acme";
const entry = (id: string, sk: string, time: string): Item => ({
  pk: `task#${tenant}#${id}`,
  sk: "record",
  tenant_id: tenant,
  task_id: id,
  [sk]: `${time}#${id}`,
});

const shards = { forReading: async () => 1 } as unknown as ListShards;

/** A table whose first shard has these index entries, and which stores these items. */
function tableOf(entries: readonly Item[], items: readonly Item[], serve = (keys: Item[]) => keys.length) {
  const asked: Item[][] = [];
  const send = async ({ input }: { input: Item }) => {
    if (input.IndexName !== undefined) {
      const { ":pk": partition } = input.ExpressionAttributeValues as Item;
      return { Items: partition === tenantPartitions(tenant, 1)[0] ? entries : [] };
    }
    const { Keys } = (input.RequestItems as Record<string, { Keys: Item[] }>).t as { Keys: Item[] };
    asked.push(Keys);
    const served = Keys.slice(0, serve(Keys));
    const found = items.filter(({ pk }) => served.some((key) => key.pk === pk));
    const rest = Keys.slice(served.length);
    return { Responses: { t: found }, UnprocessedKeys: rest.length > 0 ? { t: { Keys: rest } } : {} };
  };
  return { lists: new RecordLists(new DynamoTable({ send } as never, "t"), shards), asked };
}

describe("index entries that do not fit their record", () => {
  test("a task with an older second entry is listed once, at its present time, and asked for once", async () => {
    const present = entry("a", "tenant_sk", "2027-01-02");
    const { lists, asked } = tableOf([present, entry("a", "tenant_sk", "2027-01-01")], [present]);
    const page = await lists.list({ tenantId: tenant, limit: 10 });
    expect(page.items).toEqual([{ tenant_id: tenant, task_id: "a" }]);
    expect(asked).toEqual([[{ pk: "task#acme#a", sk: "record" }]]);
  });

  test("an entry that is newer than the record's present time is left out", async () => {
    const stale = entry("a", "tenant_sk", "2027-01-02");
    const present = entry("a", "tenant_sk", "2027-01-01");
    const { lists } = tableOf([stale], [present]);
    expect(await lists.list({ tenantId: tenant, limit: 10 })).toEqual({ items: [], next: undefined });
  });

  test("a dead letter with two entries is listed once, and one that was replayed is left out", async () => {
    const present = entry("a", "dead_letter_sk", "2027-01-03");
    const entries = [present, entry("a", "dead_letter_sk", "2027-01-02"), entry("b", "dead_letter_sk", "2027-01-01")];
    const { lists, asked } = tableOf(entries, [present, { ...entry("b", "other", ""), dead_letter_sk: undefined }]);
    const page = await lists.listDeadLetters({ tenantId: tenant, limit: 10 });
    expect(page.items.map(({ task_id }) => task_id)).toEqual(["a"]);
    expect(asked[0]).toHaveLength(2);
  });
});

describe("keys that the table did not process", () => {
  const items = ["a", "b", "c"].map((id) => entry(id, "tenant_sk", "2027-01-01"));

  test("the rest is asked for again after a random pause that grows", async ({ onTestFinished }) => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0.99);
    onTestFinished(() => random.mockRestore());
    const { lists, asked } = tableOf(items, items, () => 1);
    const startedAt = performance.now();
    expect((await lists.list({ tenantId: tenant, limit: 10 })).items).toHaveLength(3);
    expect(performance.now() - startedAt).toBeGreaterThan(140);
    expect(asked.map((keys) => keys.length)).toEqual([3, 2, 1]);
  });

  test("a table that processes nothing is unavailable after a bounded number of tries", async () => {
    const { lists, asked } = tableOf(items, items, () => 0);
    await expect(lists.list({ tenantId: tenant, limit: 10 })).rejects.toThrow(PortUnavailable);
    expect(asked).toHaveLength(5);
  });
});
