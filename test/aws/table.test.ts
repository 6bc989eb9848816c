import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { deadLetterKeys, keyAttributes, keys, listKeys, shards } from "../../src/aws/table.ts";
import { newRecord } from "../support/memory-pipeline.ts";

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
    expect(listKeys(later)).toEqual(listKeys(record));
  });

  test("a task that a submitter submitted has a key in the submitter's own list", () => {
    const record = newRecord({ requested_by: "sam", own_list: true });
    const sortKey = `${record.created_at}#${record.task_id}`;
    expect(listKeys(record)).toMatchObject({ principal_pk: "acme#sam", principal_sk: sortKey, tenant_sk: sortKey });
    expect(listKeys(newRecord())).not.toHaveProperty("principal_pk");
  });

  test("all keys are known as such, and none is a field of the record", () => {
    const record = newRecord({ own_list: true });
    const written = { ...keys.record(record), ...listKeys(record), ...deadLetterKeys(record, record.created_at) };
    expect(Object.keys(written).sort()).toEqual([...keyAttributes].sort());
    for (const attribute of keyAttributes) expect(record).not.toHaveProperty(attribute);
  });

  test("tasks spread evenly over the shards", () => {
    const counts = new Map<string | undefined, number>();
    for (let count = 0; count < 2000; count++) {
      const { tenant_pk } = listKeys(newRecord({ task_id: randomUUID() }));
      counts.set(tenant_pk, (counts.get(tenant_pk) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(shards.map((shard) => `acme#${shard}`));
    for (const count of counts.values()) expect(count).toBeGreaterThan(350);
  });

  test("a dead letter is in the shard of its task", () => {
    const record = newRecord();
    const at = "2027-01-01T00:00:00.000Z";
    expect(deadLetterKeys(record, at)).toEqual({
      dead_letter_pk: listKeys(record).tenant_pk,
      dead_letter_sk: `${at}#${record.task_id}`,
    });
  });
});
