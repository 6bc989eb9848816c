import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from "#aws-sdk/lib-dynamodb";
import type { ApiKey } from "../core/model/keys.ts";
import type { ApiKeys } from "../core/ports/tasks.ts";
import { ifConditionHolds, viaPort } from "./errors.ts";
import { keys } from "./table.ts";

const port = "the table";

/** API keys in the table: the operations of the authorizer. */
export class DynamoApiKeys implements ApiKeys {
  protected readonly client: DynamoDBDocumentClient;
  protected readonly table: string;

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.client = client;
    this.table = table;
  }

  async find(keyId: string): Promise<ApiKey | undefined> {
    const command = new GetCommand({ TableName: this.table, Key: keys.apiKey(keyId), ConsistentRead: true });
    const { Item } = await viaPort(port, this.client.send(command));
    return Item === undefined ? undefined : keyOf(Item);
  }

  async touch(keyId: string, usedAt: string, unlessAfter: string): Promise<void> {
    await this.update(keyId, {
      UpdateExpression: "SET last_used_at = :used",
      ConditionExpression: "attribute_exists(pk) AND (attribute_not_exists(last_used_at) OR last_used_at <= :before)",
      ExpressionAttributeValues: { ":used": usedAt, ":before": unlessAfter },
    });
  }

  /** Returns the item after the update, or undefined when the condition did not hold. */
  protected async update(
    keyId: string,
    update: {
      UpdateExpression: string;
      ConditionExpression: string;
      ExpressionAttributeValues: Record<string, string>;
    },
  ): Promise<ApiKey | undefined> {
    const command = new UpdateCommand({
      TableName: this.table,
      Key: keys.apiKey(keyId),
      ...update,
      ReturnValues: "ALL_NEW",
    });
    const { Attributes } = (await ifConditionHolds(port, this.client.send(command))) ?? {};
    return Attributes && keyOf(Attributes);
  }
}

/** Reads a stored key, without the attributes that are only keys of the table. */
export function keyOf(item: Record<string, unknown>): ApiKey {
  const { pk, sk: _, ...fields } = item;
  return { ...fields, key_id: String(pk).slice(keys.apiKey("").pk.length) } as ApiKey;
}
