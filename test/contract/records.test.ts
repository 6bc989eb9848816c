import { DynamoRecords } from "../../src/aws/records.ts";
import { MemoryRecords } from "../../src/memory/records.ts";
import { emulatedTable } from "./emulators.ts";
import { describeRecords } from "./records.ts";

describeRecords("records in memory", async () => ({ records: new MemoryRecords(), close: async () => {} }));

describeRecords("records in DynamoDB", async () => {
  const { documents, table, close } = await emulatedTable();
  return { records: new DynamoRecords(documents, table), close };
});
