import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { indexes } from "../../settings/config.ts";

const indexKeys = [
  [indexes.tenant, "tenant_pk", "tenant_sk"],
  [indexes.principal, "principal_pk", "principal_sk"],
  [indexes.deadLetters, "dead_letter_pk", "dead_letter_sk"],
] as const;

/**
 * Creates the deployment's table in an emulator, with the keys and indexes of the data stack. An existing table stays.
 */
export async function createTable(client: DynamoDBClient, table: string): Promise<void> {
  const command = new CreateTableCommand({
    TableName: table,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: ["pk", "sk", ...indexKeys.flatMap(([, pk, sk]) => [pk, sk])].map((AttributeName) => ({
      AttributeName,
      AttributeType: "S",
    })),
    KeySchema: keySchema("pk", "sk"),
    GlobalSecondaryIndexes: indexKeys.map(([IndexName, pk, sk]) => ({
      IndexName,
      KeySchema: keySchema(pk, sk),
      Projection: { ProjectionType: "ALL" },
    })),
  });
  await client.send(command).catch((error: unknown) => {
    if (!(error instanceof ResourceInUseException)) throw error;
  });
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 0.02, maxDelay: 0.1 }, { TableName: table });
}

const keySchema = (pk: string, sk: string) => [
  { AttributeName: pk, KeyType: "HASH" as const },
  { AttributeName: sk, KeyType: "RANGE" as const },
];
