import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  deadLetterKeys,
  directoryPartitions,
  keyAttributes,
  keys,
  listKeys,
  principalPartitions,
  tenantPartitions,
} from "../../src/aws/table.ts";
import { newRecord } from "../support/records.ts";

describe("the keys of a record", () => {
  test("the keys start with the tenant, so that no look-up crosses tenants", () => {
    const key = { tenant_id: "acme", task_id: "t" };
    expect(keys.record(key)).toEqual({ pk: "task#acme#t", sk: "record" });
    expect(keys.part(key, "result#3")).toEqual({ pk: "task#acme#t", sk: "part#result#3" });
  });

  test("the keys of the lists never change while the task lives", () => {
    const record = newRecord();
    const later = {
      ...record,
      status: "failed",
      updated_at: "2028-01-01T00:00:00.000Z",
      attempts: 3,
      round: 2,
    } as const;
    expect(listKeys(later, 8)).toEqual(listKeys(record, 8));
  });

  test("a task that a submitter submitted has a key in the submitter's own list", () => {
    const record = newRecord({ requested_by: "sam", own_list: true });
    const sortKey = `${record.created_at}#${record.task_id}`;
    expect(listKeys(record, 1)).toMatchObject({ principal_pk: "acme#sam", principal_sk: sortKey, tenant_sk: sortKey });
    expect(listKeys(newRecord(), 1)).not.toHaveProperty("principal_pk");
  });

  test("all keys are known as such, and none is a field of the record", () => {
    const record = newRecord({ own_list: true });
    const letter = deadLetterKeys(record, record.created_at, 1);
    const written = { ...keys.record(record), ...listKeys(record, 1), ...letter };
    expect(Object.keys(written).sort()).toEqual([...keyAttributes].sort());
    for (const attribute of keyAttributes) expect(record).not.toHaveProperty(attribute);
  });

  test.each([
    [1, 4, 1],
    [3, 4, 3],
    [8, 8, 8],
    [64, 64, 64],
  ])(
    "with the setting %i, tasks spread evenly over %i shards of a tenant and %i of a submitter",
    (setting, ofTenant, own) => {
      const counts = { tenant_pk: new Map<string, number>(), principal_pk: new Map<string, number>() };
      for (let count = 0; count < 500 * ofTenant; count++) {
        const record = newRecord({ task_id: randomUUID(), requested_by: "sam", own_list: true });
        const written = listKeys(record, setting);
        for (const [name, of] of Object.entries(counts)) {
          const partition = written[name] ?? "";
          of.set(partition, (of.get(partition) ?? 0) + 1);
        }
      }
      expect([...counts.tenant_pk.keys()].sort()).toEqual(tenantPartitions("acme", setting).sort());
      expect([...counts.principal_pk.keys()].sort()).toEqual(principalPartitions("acme", "sam", setting).sort());
      expect([counts.tenant_pk.size, counts.principal_pk.size]).toEqual([ofTenant, own]);
      for (const count of counts.tenant_pk.values()) expect(count).toBeGreaterThan(375);
      for (const count of counts.principal_pk.values()) expect(count).toBeGreaterThan((375 * ofTenant) / own);
    },
  );

  test("the shards of a larger setting contain those of a smaller one", () => {
    expect(tenantPartitions("acme", 8).slice(0, 4)).toEqual(tenantPartitions("acme", 1));
    expect(principalPartitions("acme", "sam", 8)[0]).toBe(principalPartitions("acme", "sam", 1)[0]);
  });

  test("no two submitters share a shard, whatever their names", () => {
    const submitters = [
      ["acme", "sam"],
      ["acme", "1#sam"],
      ["acme", "sam#1"],
      ["acme", "/1#sam"],
      ["acme-1", "sam"],
    ] as const;
    const all = submitters.flatMap(([tenant, name]) => principalPartitions(tenant, name, 8));
    expect(new Set(all).size).toBe(submitters.length * 8);
  });

  test("tenants spread evenly over the partitions of their directory", () => {
    const counts = new Map<string, number>();
    for (let count = 0; count < 8_000; count++) {
      const { pk } = keys.tenantEntry(randomUUID());
      counts.set(pk, (counts.get(pk) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(directoryPartitions.toSorted());
    for (const count of counts.values()) expect(count).toBeGreaterThan(375);
  });

  test("a dead letter is in the shard of its task", () => {
    const record = newRecord();
    const at = "2027-01-01T00:00:00.000Z";
    expect(deadLetterKeys(record, at, 8)).toEqual({
      dead_letter_pk: listKeys(record, 8).tenant_pk,
      dead_letter_sk: `${at}#${record.task_id}`,
    });
  });
});
