import { DynamoUploads } from "../../src/aws/uploads.ts";
import { MemoryUploads } from "../../src/memory/uploads.ts";
import { emulatedTable } from "./emulators.ts";
import { describeUploads } from "./uploads.ts";

describeUploads("uploads in memory", async () => ({ uploads: new MemoryUploads(), close: async () => {} }));

describeUploads("uploads in DynamoDB", async () => {
  const { dynamoTable, close } = await emulatedTable();
  return { uploads: new DynamoUploads(dynamoTable), close };
});
