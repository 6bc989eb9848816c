import { onTable } from "../deployed-table.ts";
import { addKey, revokeKey } from "../table-acts.ts";

/** Tenant of the tasks, where no key is given. */
const tenant = "offload-verify";

/** The key ends by itself, too. */
const validHours = 3;

/** A key that the command has made for itself. */
export interface TemporaryKey {
  readonly token: string;
  revoke(): Promise<void>;
}

/** Makes an admin's key in a deployment's table, as `keys create` does. */
export async function makeKey(table: string): Promise<TemporaryKey> {
  const on = { table, url: "" };
  const expires_at = new Date(Date.now() + validHours * 3_600_000).toISOString();
  const given = { tenant_id: tenant, role: "admin", label: "npx offload verify", expires_at } as const;
  const { key, token } = await onTable(on, (table) => addKey(table, given));
  const revoke = async () => {
    await onTable(on, (table) => revokeKey(table, key.key_id));
  };
  return { token, revoke };
}
