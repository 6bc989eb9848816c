import { DynamoCounters, DynamoOnceStore } from "../../src/aws/once-store.ts";
import { MemoryCounters, MemoryOnceStore } from "../../src/memory/others.ts";
import { emulatedTable } from "./emulators.ts";
import { describeOnceStore } from "./once-store.ts";

describeOnceStore("once in memory", async () => ({
  once: new MemoryOnceStore(),
  counters: new MemoryCounters(),
  close: async () => {},
}));

describeOnceStore("once in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { once: new DynamoOnceStore(dynamoTable), counters: new DynamoCounters(dynamoTable), close };
});
