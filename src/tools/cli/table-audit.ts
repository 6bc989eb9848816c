import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import { DynamoAuditLog } from "../../aws/audit-log.ts";
import type { DynamoTable } from "../../aws/dynamo-table.ts";
import { wholeDeployment } from "../../core/ports/audit.ts";

/** A change that a command makes in the table itself. */
export interface TableAct {
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
