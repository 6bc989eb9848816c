import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, ScanCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";
import { indexes } from "../config.ts";

const indexKeys = [
  [indexes.tenant, "tenant_pk", "tenant_sk"],
  [indexes.principal, "principal_pk", "principal_sk"],
  [indexes.deadLetters, "dead_letter_pk", "dead_letter_sk"],
] as const;

/** Creates the deployment's table in an emulator, with the keys and indexes of the data stack. An existing table stays. */
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

/**
 * Ends the leases of all running attempts, and returns their number. For the start of the local server, when no worker can be
 * alive: the attempts then count as crashed immediately, not only when their leases end.
 */
export async function endLeases(client: DynamoDBClient, table: string): Promise<number> {
  const documents = DynamoDBDocumentClient.from(client);
  const now = new Date().toISOString();
  let ended = 0;
  let from: Record<string, unknown> | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({
        TableName: table,
        FilterExpression: "#status = :processing",
        ProjectionExpression: "pk, sk",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":processing": "processing" },
        ExclusiveStartKey: from,
      }),
    );
    for (const key of page.Items ?? []) {
      await documents.send(
        new UpdateCommand({
          TableName: table,
          Key: key,
          UpdateExpression: "SET lease_until = :now",
          ExpressionAttributeValues: { ":now": now },
        }),
      );
      ended += 1;
    }
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return ended;
}
