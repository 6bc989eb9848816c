import { randomBytes } from "node:crypto";
import type { DynamoTable } from "../../aws/dynamo-table.ts";
import { DynamoKeyStore } from "../../aws/key-store.ts";
import { newApiKey } from "../../core/model/keys.ts";
import { onTable } from "../deployed-table.ts";
import { recordAct } from "../table-audit.ts";

/** Tenant of the tasks, where no key is given. */
const tenant = "offload-verify";

/** The key ends by itself, too. */
const validHours = 3;

/** A key that the command has made for itself. */
export interface TemporaryKey {
  readonly token: string;
  revoke(): Promise<void>;
}

/** Makes an admin's key in a deployment's table, as `keys create` does, with its line in the audit log. */
export async function makeKey(table: string): Promise<TemporaryKey> {
  const on = <T>(work: (table: DynamoTable) => Promise<T>) => onTable({ table, url: "" }, work);
  const nowMs = Date.now();
  const expires_at = new Date(nowMs + validHours * 3_600_000).toISOString();
  const given = { tenant_id: tenant, role: "admin", label: "npx offload verify", expires_at } as const;
  const { key, token } = newApiKey(given, new Date(nowMs).toISOString(), randomBytes);
  const { key_id } = key;
  await on(async (table) => {
    await recordAct(table, { tenant, action: "keys create", target: { key_id, role: key.role } });
    await new DynamoKeyStore(table).add(key);
  });
  const revoke = () =>
    on(async (table) => {
      await recordAct(table, { tenant, action: "keys revoke", target: { key_id } });
      await new DynamoKeyStore(table).revoke(key_id, new Date().toISOString());
    });
  return { token, revoke };
}
