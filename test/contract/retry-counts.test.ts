import { afterEach, beforeEach, describe } from "vitest";
import { DynamoRecords } from "../../src/aws/records.ts";
import { DynamoRetryCounts } from "../../src/aws/retry-counts.ts";
import { MemoryRecords } from "../../src/memory/records.ts";
import { MemoryRetryCounts } from "../../src/memory/retry-counts.ts";
import { newRecord } from "../support/records.ts";
import { emulatedTable } from "./emulators.ts";
import { retryCountsContract } from "./retry-counts.ts";

describe("counts of retries in memory", () => {
  let records: MemoryRecords;
  beforeEach(() => {
    records = new MemoryRecords();
  });
  retryCountsContract(() => ({ records, counts: new MemoryRetryCounts(records) }), newRecord);
});

describe("counts of retries in the table", () => {
  let emulated: Awaited<ReturnType<typeof emulatedTable>>;
  beforeEach(async () => {
    emulated = await emulatedTable();
  });
  afterEach(() => emulated.close());
  retryCountsContract(
    () => ({
      records: new DynamoRecords(emulated.dynamoTable),
      counts: new DynamoRetryCounts(emulated.dynamoTable),
    }),
    newRecord,
  );
});
