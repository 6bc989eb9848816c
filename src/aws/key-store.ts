import { PutCommand, QueryCommand } from "#aws-sdk/lib-dynamodb";
import type { ApiKey } from "../core/model/keys.ts";
import type { KeyStore } from "../core/ports/tasks.ts";
import { DynamoApiKeys, keyOf } from "./api-keys.ts";
import { batchGet } from "./batch-get.ts";
import { viaPort } from "./errors.ts";
import { directoryPartitions, keys } from "./table.ts";

const port = "the table";

/**
 * API keys in the table: the operations of operators. All data of a key is in the key's own item. Two directories, of
 * tenants and of each tenant's keys, make it possible to list the keys.
 */
export class DynamoKeyStore extends DynamoApiKeys implements KeyStore {
  /** Writes the directories first: an entry without a key is skipped, but a key without an entry could not be listed. */
  async add(key: ApiKey): Promise<void> {
    const { key_id, ...fields } = key;
    await this.#put(keys.tenantEntry(key.tenant_id));
    await this.#put(keys.apiKeyEntry(key.tenant_id, key_id));
    await this.#put({ ...fields, ...keys.apiKey(key_id) });
  }

  async tenants(): Promise<string[]> {
    const parts = await Promise.all(directoryPartitions.map((partition) => this.#directory(partition)));
    return [...new Set(parts.flat())];
  }

  async list(tenantId: string): Promise<ApiKey[]> {
    const keyIds = await this.#directory(keys.apiKeyEntry(tenantId, "").pk);
    const found: ApiKey[] = [];
    for (let start = 0; start < keyIds.length; start += 100) {
      found.push(...(await this.#fetch(keyIds.slice(start, start + 100))));
    }
    return found.sort((a, b) => ((a.created_at ?? "") < (b.created_at ?? "") ? -1 : 1));
  }

  revoke(keyId: string, revokedAt: string): Promise<ApiKey | undefined> {
    return this.update(keyId, {
      UpdateExpression: "SET revoked_at = if_not_exists(revoked_at, :now)",
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeValues: { ":now": revokedAt },
    });
  }

  async #put(Item: Record<string, unknown>): Promise<void> {
    await viaPort(port, this.client.send(new PutCommand({ TableName: this.table, Item })));
  }

  /** Reads the names in a directory. */
  async #directory(pk: string): Promise<string[]> {
    const names: string[] = [];
    let from: Record<string, unknown> | undefined;
    do {
      const command = new QueryCommand({
        TableName: this.table,
        KeyConditionExpression: "pk = :pk",
        ExpressionAttributeValues: { ":pk": pk },
        ConsistentRead: true,
        ExclusiveStartKey: from,
      });
      const { Items = [], LastEvaluatedKey } = await viaPort(port, this.client.send(command));
      names.push(...Items.map((item) => String(item.sk)));
      from = LastEvaluatedKey;
    } while (from !== undefined);
    return names;
  }

  async #fetch(keyIds: readonly string[]): Promise<ApiKey[]> {
    const wanted = keyIds.map((keyId) => keys.apiKey(keyId));
    return (await batchGet(this.client, this.table, wanted, { port, consistent: true })).map(keyOf);
  }
}
