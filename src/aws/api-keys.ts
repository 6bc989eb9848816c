import type { ApiKey } from "../core/model/keys.ts";
import type { ApiKeys } from "../core/ports/tasks.ts";
import type { DynamoTable, Item } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** API keys in the table: the operations of the authorizer. */
export class DynamoApiKeys implements ApiKeys {
  protected readonly table: DynamoTable;

  constructor(table: DynamoTable) {
    this.table = table;
  }

  async find(keyId: string): Promise<ApiKey | undefined> {
    const item = await this.table.get(keys.apiKey(keyId));
    return item && keyOf(item);
  }

  async touch(keyId: string, usedAt: string, unlessAfter: string): Promise<void> {
    await this.table.updateIf(keys.apiKey(keyId), {
      UpdateExpression: "SET last_used_at = :used",
      ConditionExpression: "attribute_exists(pk) AND (attribute_not_exists(last_used_at) OR last_used_at <= :before)",
      ExpressionAttributeValues: { ":used": usedAt, ":before": unlessAfter },
    });
  }
}

/** Reads a stored key, without the attributes that are only keys of the table. */
export function keyOf(item: Item): ApiKey {
  const { pk, sk: _, ...fields } = item;
  return { ...fields, key_id: String(pk).slice(keys.apiKey("").pk.length) } as ApiKey;
}
