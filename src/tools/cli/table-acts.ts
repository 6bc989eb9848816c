import { randomBytes, randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { DynamoAuditLog } from "../../aws/audit-log.ts";
import type { DynamoTable } from "../../aws/dynamo-table.ts";
import { DynamoKeyStore } from "../../aws/key-store.ts";
import { type ApiKey, newApiKey } from "../../core/model/keys.ts";
import { wholeDeployment } from "../../core/ports/audit.ts";

/** A change that a command makes in the table itself. */
interface TableAct {
  /** Absent: it concerns all tenants. */
  tenant?: string | undefined;
  /** The words of the command. */
  action: string;
  target?: Readonly<Record<string, string>>;
  request?: unknown;
}

/** Stores an act, before it is done. Its actor is the user of this machine. */
export async function recordAct(
  table: DynamoTable,
  { tenant = wholeDeployment, action, target = {}, request }: TableAct,
): Promise<void> {
  await new DynamoAuditLog(table).add({
    ...{ tenant_id: tenant, at: new Date().toISOString(), audit_id: randomUUID() },
    ...{ actor: `cli:${userName()}`, action, target },
    ...(request !== undefined && { request }),
    correlation_id: randomUUID(),
  });
}

/** A container's user may have no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}

/** Makes a key in a deployment's table, with its line in the audit log. Returns it with its token. */
export async function addKey(table: DynamoTable, given: Parameters<typeof newApiKey>[0]) {
  const made = newApiKey(given, new Date().toISOString(), randomBytes);
  const { key_id, role, tenant_id: tenant } = made.key;
  await recordAct(table, { tenant, action: "keys create", target: { key_id, role } });
  await new DynamoKeyStore(table).add(made.key);
  return made;
}

/** Revokes a key, with its line in the audit log. Undefined: there is none with this id. */
export async function revokeKey(table: DynamoTable, key_id: string): Promise<ApiKey | undefined> {
  const store = new DynamoKeyStore(table);
  const tenant = (await store.find(key_id))?.tenant_id;
  if (tenant === undefined) return undefined;
  await recordAct(table, { tenant, action: "keys revoke", target: { key_id } });
  return store.revoke(key_id, new Date().toISOString());
}
