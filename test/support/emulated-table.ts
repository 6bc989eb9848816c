import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { createTable } from "../../src/local/create-table.ts";
import { startTable } from "../../src/local/table.ts";

/** The deployment's table in an emulator of a test's own, in memory. */
export async function emulatedTable(): Promise<{
  documents: DynamoDBDocumentClient;
  table: string;
  close: () => Promise<void>;
}> {
  const server = await startTable({ port: 0, stateDir: undefined });
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  const client = new DynamoDBClient({ endpoint: server.url, region: "us-east-1", credentials });
  await createTable(client, "offload");
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  return {
    documents,
    table: "offload",
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
}
