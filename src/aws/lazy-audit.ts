import type { AuditLog } from "../core/ports/audit.ts";
import type { DynamoTable } from "./dynamo-table.ts";

/** The audit, for entries of what a worker does by itself. Its code loads with the first entry: hardly any has one. */
export const lazyAudit = (table: DynamoTable): Pick<AuditLog, "add"> => ({
  add: async (entry) => new (await import("./audit-log.ts")).DynamoAuditLog(table).add(entry),
});
