import { type AuditEntry, type AuditKey, type AuditLog, type AuditQuery, auditSeconds } from "../core/ports/audit.ts";
import type { Page } from "../core/ports/tasks.ts";
import { type DynamoTable, eachReadable, type Item, type Query } from "./dynamo-table.ts";
import { storedJson } from "./stored-json.ts";
import { keys } from "./table.ts";

const nothing: Page<AuditEntry> = { items: [], next: undefined };

/** Entries of one query, and the queries for one page at most: filters can leave many of them out. */
const readAtOnce = 200;
const maxReads = 5;

/** The acts of operators in DynamoDB: an item each, in the partition of their tenant. The TTL deletes them. */
export class DynamoAuditLog implements AuditLog {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  add({ request, ...entry }: AuditEntry): Promise<void> {
    return this.#table.put({
      ...keys.auditEntry(entry),
      ...entry,
      ...(entry.target.task_id !== undefined && { task_id: entry.target.task_id }),
      ...(request !== undefined && { request: JSON.stringify(request) }),
      purge_at: Math.ceil(Date.parse(entry.at) / 1000) + auditSeconds,
    });
  }

  async answered(key: AuditKey, status: number): Promise<void> {
    await this.#table.updateIf(keys.auditEntry(key), {
      UpdateExpression: "SET #status = :status",
      ConditionExpression: "attribute_exists(pk)",
      ExpressionAttributeNames: { "#status": "status" },
      ExpressionAttributeValues: { ":status": status },
    });
  }

  async list(query: AuditQuery): Promise<Page<AuditEntry>> {
    // DynamoDB refuses an empty range.
    if (query.after !== undefined && query.before !== undefined && query.before <= query.after) return nothing;
    const items: AuditEntry[] = [];
    let from = query.from;
    for (let reads = 0; reads < maxReads && items.length < query.limit; reads++) {
      const page = await this.#table.page(readOf(query, from), "any");
      items.push(...eachReadable(page.items, entryOf));
      if (page.last === undefined) return pageOf(items, query.limit, undefined);
      from = String(page.last.sk);
    }
    return pageOf(items, query.limit, from);
  }
}

function readOf(
  { tenantId, actor, action, taskId, after, before, limit }: AuditQuery,
  from: string | undefined,
): Query {
  const wanted = Object.entries({ actor, action, task_id: taskId }).filter(([, value]) => value !== undefined);
  const { pk } = keys.auditEntry({ tenant_id: tenantId, at: "", audit_id: "" });
  return {
    KeyConditionExpression: "pk = :pk AND sk BETWEEN :after AND :before",
    ...(wanted.length > 0 && {
      FilterExpression: wanted.map(([name]) => `#${name} = :${name}`).join(" AND "),
      ExpressionAttributeNames: Object.fromEntries(wanted.map(([name]) => [`#${name}`, name])),
    }),
    ExpressionAttributeValues: {
      ":pk": pk,
      ":after": after ?? " ",
      // An entry of this very time sorts behind it.
      ":before": before ?? "~",
      ...Object.fromEntries(wanted.map(([name, value]) => [`:${name}`, value])),
    },
    ...(from !== undefined && { ExclusiveStartKey: { pk, sk: from } }),
    ConsistentRead: false,
    ScanIndexForward: false,
    Limit: wanted.length === 0 ? limit + 1 : readAtOnce,
  };
}

function pageOf(items: AuditEntry[], limit: number, next: string | undefined): Page<AuditEntry> {
  const last = items[limit - 1];
  if (items.length <= limit || last === undefined) return { items, next };
  return { items: items.slice(0, limit), next: `${last.at}#${last.audit_id}` };
}

function entryOf({ tenant_id, at, audit_id, actor, role, action, target, request, status, correlation_id }: Item) {
  return {
    ...{ tenant_id, at, audit_id, actor, action, target, correlation_id },
    ...(role !== undefined && { role }),
    ...(request !== undefined && { request: storedJson(request, "an act of an operator") }),
    ...(status !== undefined && { status: Number(status) }),
  } as AuditEntry;
}
