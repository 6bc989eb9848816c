import { expect, test } from "vitest";
import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Records, RetryCounts } from "../../src/core/ports/tasks.ts";

const none = { critical: 0, high: 0, normal: 0, low: 0 };

/** What every implementation does, whose counts follow the changes of the records. */
export function retryCountsContract(
  pair: () => { records: Records; counts: RetryCounts },
  newRecord: (more?: Partial<TaskRecord>) => TaskRecord,
) {
  const stored = async (more: Partial<TaskRecord> = {}): Promise<TaskRecord> => {
    const record = newRecord(more);
    await pair().records.create(record, record.created_at);
    return record;
  };
  const retry = (record: TaskRecord) =>
    pair().records.change(record, { when: {}, set: { status: "pending", retrying_in: record.priority } });

  test("tasks of all tenants count in their tier while they wait for another attempt", async () => {
    const { counts, records } = pair();
    expect(await counts.ofTiers()).toEqual(none);
    const first = await stored({ priority: "normal" });
    const second = await stored({ priority: "normal", tenant_id: "globex" });
    const low = await stored({ priority: "low" });
    await stored({ priority: "high" });
    for (const record of [first, second, low]) await retry(record);
    expect(await counts.ofTiers()).toEqual({ ...none, normal: 2, low: 1 });
    await records.change(first, { when: {}, set: { status: "processing" }, remove: ["retrying_in"] });
    expect(await counts.ofTiers()).toEqual({ ...none, normal: 1, low: 1 });
  });

  test("a task that is moved counts in its new tier", async () => {
    const { counts, records } = pair();
    const record = await stored({ priority: "normal" });
    await retry(record);
    await records.change(record, { when: {}, set: { priority: "critical", retrying_in: "critical" } });
    expect(await counts.ofTiers()).toEqual({ ...none, critical: 1 });
  });

  test("a dead letter does not count, and is in the list of dead letters", async () => {
    const { counts, records } = pair();
    const record = await stored({ priority: "normal" });
    await retry(record);
    const failed = { status: "failed", dead_letter_at: "2027-01-01T00:00:01.000Z" } as const;
    await records.change(record, { when: {}, set: failed, remove: ["retrying_in"] });
    expect(await counts.ofTiers()).toEqual(none);
    const { items } = await records.listDeadLetters({ tenantId: record.tenant_id, limit: 10 });
    expect(items).toMatchObject([{ task_id: record.task_id }]);
    await records.change(record, { when: {}, set: { status: "pending" }, remove: ["dead_letter_at"] });
    expect(await counts.ofTiers()).toEqual(none);
  });
}
