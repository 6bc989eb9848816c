import { DynamoUniqueKeys } from "../../src/aws/unique-keys.ts";
import { MemoryUniqueKeys } from "../../src/memory/unique-keys.ts";
import { emulatedTable } from "./emulators.ts";
import { describeUniqueKeys } from "./unique-keys.ts";

describeUniqueKeys("unique keys in memory", async () => ({ keys: new MemoryUniqueKeys(), close: async () => {} }));

describeUniqueKeys("unique keys in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { keys: new DynamoUniqueKeys(dynamoTable), close };
});
