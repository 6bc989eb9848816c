import type { SecretVersion, SecretVersions } from "../core/notify/secret.ts";
import { type DynamoTable, fieldsOf } from "./dynamo-table.ts";
import { keys } from "./table.ts";

/** Versions of tenants' secrets in DynamoDB. */
export class DynamoSecretVersions implements SecretVersions {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  async get(tenantId: string): Promise<SecretVersion | undefined> {
    const item = await this.#table.get(keys.webhookSecret(tenantId));
    if (item === undefined) return undefined;
    const { version, rotated_at } = fieldsOf<SecretVersion>(item);
    return { version, rotated_at };
  }

  put(tenantId: string, { version, rotated_at }: SecretVersion): Promise<boolean> {
    const isNext = version === 2 ? "attribute_not_exists(pk)" : "version = :before";
    const item = { ...keys.webhookSecret(tenantId), tenant_id: tenantId, version, rotated_at };
    return this.#table.putIf(item, {
      // A repeated request of a client whose first answer was lost stores the same version again.
      ConditionExpression: `${isNext} OR (version = :version AND rotated_at[0] = :at)`,
      ExpressionAttributeValues: {
        ...(version > 2 && { ":before": version - 1 }),
        ":version": version,
        ":at": rotated_at[0],
      },
    });
  }
}
