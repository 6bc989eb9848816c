import { DynamoFamilies } from "../../src/aws/families.ts";
import { MemoryFamilies } from "../../src/memory/families.ts";
import { emulatedTable } from "./emulators.ts";
import { describeFamilies } from "./families.ts";

describeFamilies("families in memory", async () => ({ families: new MemoryFamilies(), close: async () => {} }));

describeFamilies("families in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { families: new DynamoFamilies(dynamoTable), close };
});
