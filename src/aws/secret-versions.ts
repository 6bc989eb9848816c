import { type DynamoDBDocumentClient, GetCommand, PutCommand } from "#aws-sdk/lib-dynamodb";
import type { SecretVersion, SecretVersions } from "../core/notify/secret.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** Versions of tenants' secrets in DynamoDB. */
export class DynamoSecretVersions implements SecretVersions {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.#client = client;
    this.#table = table;
  }

  async get(tenantId: string): Promise<SecretVersion | undefined> {
    const command = new GetCommand({
      TableName: this.#table,
      Key: keys.webhookSecret(tenantId),
      ConsistentRead: true,
    });
    const { Item } = await viaPort(port, this.#client.send(command));
    return Item === undefined ? undefined : { version: Item.version, rotated_at: Item.rotated_at };
  }

  async put(tenantId: string, { version, rotated_at }: SecretVersion): Promise<boolean> {
    const isNext = version === 2 ? "attribute_not_exists(pk)" : "version = :before";
    const command = new PutCommand({
      TableName: this.#table,
      Item: { ...keys.webhookSecret(tenantId), tenant_id: tenantId, version, rotated_at },
      // A repeated request of a client whose first answer was lost stores the same version again.
      ConditionExpression: `${isNext} OR (version = :version AND rotated_at[0] = :at)`,
      ExpressionAttributeValues: {
        ...(version > 2 && { ":before": version - 1 }),
        ":version": version,
        ":at": rotated_at[0],
      },
    });
    return (await ifConditionHolds(port, this.#client.send(command))) !== undefined;
  }
}
