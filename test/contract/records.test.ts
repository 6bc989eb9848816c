import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PutCommand, QueryCommand } from "#aws-sdk/lib-dynamodb";
import type { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { DynamoRecords } from "../../src/aws/records.ts";
import { keys, principalPartitions } from "../../src/aws/table.ts";
import type { TaskKey } from "../../src/core/model/record.ts";
import type { Part } from "../../src/core/ports/tasks.ts";
import { MemoryRecords } from "../../src/memory/records.ts";
import { indexes } from "../../src/settings/config.ts";
import { newRecord } from "../support/records.ts";
import { emulatedTable } from "./emulators.ts";
import { describeRecords } from "./records.ts";

/** Reads until when a part is kept, for the checks of tests. */
const purgeAtIn = (table: DynamoTable) => async (key: TaskKey, part: Part) =>
  (await table.get(keys.part(key, part)))?.purge_at as number | undefined;

describeRecords("records in memory", async () => {
  const records = new MemoryRecords();
  return { records, purgeAtOf: async (...part) => records.purgeAtOf(...part), close: async () => {} };
});

describeRecords("records in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { records: new DynamoRecords(dynamoTable), purgeAtOf: purgeAtIn(dynamoTable), close };
});

const shards = 9;
describeRecords(
  `the lists of records in DynamoDB, with ${shards} shards`,
  async () => {
    const { documents, table, dynamoTable, close } = await emulatedTable();
    const Item = { ...keys.listShards(), shards, usable_at: 0 };
    await documents.send(new PutCommand({ TableName: table, Item }));
    return { records: new DynamoRecords(dynamoTable, shards), purgeAtOf: purgeAtIn(dynamoTable), close };
  },
  "lists",
);

describe("a change of the number of list shards", () => {
  const tenantId = "acme";
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    emulated = await emulatedTable();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await emulated.close();
  });

  /** A process whose setting is this number. */
  const processWith = (setting: number) => new DynamoRecords(emulated.dynamoTable, setting);
  const later = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);

  /** Writes tasks of one submitter that are dead letters. Returns their ids. */
  const write = async (records: DynamoRecords, count: number) => {
    const time = "2027-01-01T00:00:00.000Z";
    const many = Array.from({ length: count }, () => newRecord({ requested_by: "sam", own_list: true }));
    for (const record of many) {
      await records.create(record, time);
      await records.change(record, { when: {}, set: { status: "failed", dead_letter_at: time } });
    }
    return many.map(({ task_id }) => task_id);
  };
  const listsOf = async (records: DynamoRecords) => {
    const pages = await Promise.all([
      records.list({ tenantId, limit: 100 }),
      records.list({ tenantId, requestedBy: "sam", limit: 100 }),
      records.listDeadLetters({ tenantId, limit: 100 }),
    ]);
    return pages.map(({ items }) => items.map(({ task_id }) => task_id).sort());
  };
  const all = (...ids: string[][]) => [1, 2, 3].map(() => ids.flat().sort());
  /** The submitter's partitions that have entries, of eight. */
  const usedPartitions = async () => {
    const used = await Promise.all(
      principalPartitions(tenantId, "sam", 8).map(async (partition) => {
        const query = new QueryCommand({
          TableName: emulated.table,
          IndexName: indexes.principal,
          KeyConditionExpression: "principal_pk = :pk",
          ExpressionAttributeValues: { ":pk": partition },
        });
        const { Items = [] } = await emulated.documents.send(query);
        return Items.length > 0 ? [partition] : [];
      }),
    );
    return used.flat();
  };

  test("readers list the tasks of every earlier number, also after it was lowered", async () => {
    const before = await write(processWith(1), 5);
    await write(processWith(8), 1).then((ids) => before.push(...ids));
    later(20);
    const many = await write(processWith(8), 40);
    // Ids are random: of eight partitions, forty tasks leave four empty once in 10^10 runs.
    expect((await usedPartitions()).length).toBeGreaterThan(4);
    const after = await write(processWith(2), 5);
    for (const setting of [1, 2, 8, 16]) expect(await listsOf(processWith(setting))).toEqual(all(before, many, after));
  });

  test("a process that has read the lists before misses no task while the number grows", async () => {
    const [reader, writer] = [processWith(1), processWith(8)];
    expect(await listsOf(reader)).toEqual(all([]));
    const ids: string[] = [];
    for (let second = 0; second <= 30; second += 5) {
      ids.push(...(await write(writer, 4)));
      expect(await listsOf(reader)).toEqual(all(ids));
      later(5);
    }
    expect((await usedPartitions()).length).toBeGreaterThan(1);
  });

  test("while the number cannot be stored, tasks are in the first shard", async () => {
    const records = processWith(8);
    const { documents } = emulated;
    const send = documents.send.bind(documents) as (command: object) => Promise<never>;
    const down = Object.assign(new Error("down"), { name: "InternalServerError" });
    const spy = vi
      .spyOn(documents, "send")
      .mockImplementation(((command: { input: { Key?: { pk?: unknown } } }) =>
        command.input.Key?.pk === keys.listShards().pk
          ? Promise.reject(down)
          : send(command)) as typeof documents.send);
    await write(records, 10);
    spy.mockRestore();
    expect(await usedPartitions()).toEqual(principalPartitions(tenantId, "sam", 1));
    await write(records, 1);
    later(20);
    await write(records, 20);
    expect((await usedPartitions()).length).toBeGreaterThan(1);
  });
});
