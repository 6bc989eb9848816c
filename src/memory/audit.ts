import type { AuditEntry, AuditKey, AuditLog, AuditQuery } from "../core/ports/audit.ts";
import type { Page } from "../core/ports/tasks.ts";
import { copy } from "./copy.ts";

const orderOf = ({ at, audit_id }: AuditKey): string => `${at}#${audit_id}`;

/** The acts of operators in memory. Nothing deletes them. */
export class MemoryAuditLog implements AuditLog {
  readonly #entries = new Map<string, AuditEntry>();

  async add(entry: AuditEntry): Promise<void> {
    this.#entries.set(`${entry.tenant_id}#${orderOf(entry)}`, copy(entry));
  }

  async answered(key: AuditKey, status: number): Promise<void> {
    const entry = this.#entries.get(`${key.tenant_id}#${orderOf(key)}`);
    if (entry !== undefined) entry.status = status;
  }

  async list({
    tenantId,
    actor,
    action,
    taskId,
    after = "",
    before,
    limit,
    from,
  }: AuditQuery): Promise<Page<AuditEntry>> {
    const found = [...this.#entries.values()]
      .filter((entry) => entry.tenant_id === tenantId && entry.at >= after && entry.at < (before ?? "~"))
      .filter((entry) => from === undefined || orderOf(entry) < from)
      .filter((entry) => actor === undefined || entry.actor === actor)
      .filter((entry) => action === undefined || entry.action === action)
      .filter((entry) => taskId === undefined || entry.target.task_id === taskId)
      .sort((a, b) => (orderOf(a) < orderOf(b) ? 1 : -1));
    const items = found.slice(0, limit).map((entry) => copy(entry));
    const last = items.at(-1);
    return { items, next: last === undefined || found.length <= limit ? undefined : orderOf(last) };
  }
}
