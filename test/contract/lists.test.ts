import { DynamoLists } from "../../src/aws/lists.ts";
import { MemoryLists } from "../../src/memory/lists.ts";
import { emulatedTable } from "./emulators.ts";
import { describeLists } from "./lists.ts";

describeLists("lists of collected inputs in memory", async () => ({ lists: new MemoryLists(), close: async () => {} }));

describeLists("lists of collected inputs in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { lists: new DynamoLists(dynamoTable), close };
});
