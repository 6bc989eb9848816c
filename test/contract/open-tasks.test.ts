import { expect, test } from "vitest";
import { DynamoOpenTasks } from "../../src/aws/open-tasks.ts";
import { DynamoRecords } from "../../src/aws/records.ts";
import type { OpenTasks, Records } from "../../src/core/ports/tasks.ts";
import { MemoryOpenTasks } from "../../src/memory/open-tasks.ts";
import { MemoryRecords } from "../../src/memory/records.ts";
import { newRecord } from "../support/records.ts";
import { emulatedTable } from "./emulators.ts";

const memory = async () => {
  const records = new MemoryRecords();
  return { records, openTasks: new MemoryOpenTasks(records), close: async () => {} };
};

const dynamo = async () => {
  const { documents, table, dynamoTable, close } = await emulatedTable();
  return { records: new DynamoRecords(dynamoTable), openTasks: new DynamoOpenTasks(documents, table), close };
};

test.each<[string, () => Promise<{ records: Records; openTasks: OpenTasks; close(): Promise<void> }>]>([
  ["memory", memory],
  ["DynamoDB", dynamo],
])(
  "the open tasks in %s are those that have not ended or that a reconciliation ended, of all tenants, part by part",
  async (_, make) => {
    const { records, openTasks, close } = await make();
    const pad = "x".repeat(9_000);
    const open = Array.from({ length: 150 }, (_unused, n) =>
      newRecord({ tenant_id: `t${n % 3}`, status: n % 2 === 0 ? "pending" : "processing", result: { pad } }),
    );
    const over = (["completed", "failed", "cancelled", "expired"] as const).map((status) => newRecord({ status }));
    // A reconciliation ended it, and may have died before it did what follows.
    const rescued = newRecord({ status: "failed", rescued_at: "2027-01-01T00:00:00.000Z" });
    for (const record of [...open, rescued, ...over]) await records.create(record, record.created_at);
    const found: string[] = [];
    let parts = 0;
    let next: string | undefined;
    do {
      const part = await openTasks.part(next);
      found.push(...part.items.map(({ task_id }) => task_id));
      next = part.next;
      parts += 1;
    } while (next !== undefined);
    expect(found.toSorted()).toEqual([...open, rescued].map(({ task_id }) => task_id).toSorted());
    expect(parts).toBeGreaterThan(1);
    await close();
  },
);
