import { keys as tableKeys } from "../../src/aws/table.ts";
import { DynamoUniqueKeys } from "../../src/aws/unique-keys.ts";
import { MemoryUniqueKeys } from "../../src/memory/unique-keys.ts";
import { emulatedTable } from "./emulators.ts";
import { describeUniqueKeys } from "./unique-keys.ts";

describeUniqueKeys("unique keys in memory", async () => {
  const keys = new MemoryUniqueKeys();
  return { keys, purgeAtOf: async (key) => keys.purgeAtOf(key), close: async () => {} };
});

describeUniqueKeys("unique keys in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  const purgeAtOf = async (key: Parameters<typeof tableKeys.uniqueKey>[0]) =>
    (await dynamoTable.get(tableKeys.uniqueKey(key)))?.purge_at as number | undefined;
  return { keys: new DynamoUniqueKeys(dynamoTable), purgeAtOf, close };
});
