import { DynamoBlobList } from "../../src/aws/blob-list.ts";
import { MemoryBlobList } from "../../src/memory/blob-list.ts";
import { describeBlobList } from "./blob-list.ts";
import { emulatedTable } from "./emulators.ts";

describeBlobList("the list of objects in memory", async () => ({ list: new MemoryBlobList(), close: async () => {} }));

describeBlobList("the list of objects in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { list: new DynamoBlobList(dynamoTable), close };
});
