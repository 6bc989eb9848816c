import type { ApiKey } from "../core/model/keys.ts";
import type { KeyStore } from "../core/ports/tasks.ts";
import { DynamoApiKeys, keyOf } from "./api-keys.ts";
import { eachReadable } from "./dynamo-table.ts";
import { getMany } from "./get-many.ts";
import { directoryPartitions, keys } from "./table.ts";

/**
 * API keys in the table: the operations of operators. All data of a key is in the key's own item. Two directories, of
 * tenants and of each tenant's keys, make it possible to list the keys.
 */
export class DynamoKeyStore extends DynamoApiKeys implements KeyStore {
  /**
   * Writes the directories first: an entry without a key is skipped, but a key without an entry could not be listed.
   */
  async add(key: ApiKey): Promise<void> {
    const { key_id, ...fields } = key;
    await this.table.put(keys.tenantEntry(key.tenant_id));
    await this.table.put(keys.apiKeyEntry(key.tenant_id, key_id));
    await this.table.put({ ...fields, ...keys.apiKey(key_id) });
  }

  async tenants(): Promise<string[]> {
    const parts = await Promise.all(directoryPartitions.map((partition) => this.#directory(partition)));
    return [...new Set(parts.flat())];
  }

  async list(tenantId: string): Promise<ApiKey[]> {
    const keyIds = await this.#directory(keys.apiKeyEntry(tenantId, "").pk);
    const own = keyIds.map((keyId) => keys.apiKey(keyId));
    const items = await getMany(this.table, own, "consistently", "any");
    return eachReadable(items, keyOf).sort((a, b) => ((a.created_at ?? "") < (b.created_at ?? "") ? -1 : 1));
  }

  async revoke(keyId: string, revokedAt: string): Promise<ApiKey | undefined> {
    const item = await this.table.updated(keys.apiKey(keyId), {
      UpdateExpression: "SET revoked_at = if_not_exists(revoked_at, :now)",
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeValues: { ":now": revokedAt },
    });
    return item && keyOf(item);
  }

  /** Reads the names in a directory. */
  async #directory(pk: string): Promise<string[]> {
    const query = { KeyConditionExpression: "pk = :pk", ExpressionAttributeValues: { ":pk": pk } };
    return (await this.table.all(query)).map(({ sk }) => String(sk));
  }
}
