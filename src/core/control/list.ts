import { hasUniqueKey } from "../model/idempotency.ts";
import { onFailedName } from "../model/internal-names.ts";
import { hasEnded, isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import { isSuspended } from "../model/suspension.ts";
import type { Identity, Status, Tier } from "../model/words.ts";
import { childPages, type FamilyReadPorts } from "../pipeline/end/child-results.ts";
import type { Clock, Page, Records } from "../ports/tasks.ts";
import type { PageQuery } from "./all-tenants.ts";

/** The most index pages that one answer reads: a filter that matches little makes short pages instead of long waits. */
const maxPages = 5;

/** Selects tasks. An absent field selects all. */
export interface TaskFilter {
  status?: Status | undefined;
  /** True: only tasks that wait for another attempt after a failed one. False: all but those. */
  retrying?: boolean | undefined;
  type?: string | undefined;
  priority?: Tier | undefined;
  tags?: Record<string, string> | undefined;
  /** Unique key of the tasks, as submits have it. */
  uniqueKey?: string | undefined;
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
}

/** One page of tasks, newest first: a submitter's own tasks, or all tasks of an operator's tenant. */
export function listTasks(
  ports: { records: Records; clock: Clock },
  identity: Identity,
  filter: TaskFilter,
  page: PageQuery,
): Promise<Page<TaskRecord>> {
  const now = ports.clock.now();
  const wanted = (record: TaskRecord) => isKept(record, now) && isSelected(filter, record, now);
  const read = (from: string | undefined, limit: number) =>
    ports.records.list({
      tenantId: identity.tenantId,
      requestedBy: identity.role === "submitter" ? identity.principal : undefined,
      createdAfter: filter.createdAfter,
      createdBefore: filter.createdBefore,
      type: filter.type,
      priority: filter.priority,
      limit,
      from,
    });
  return collect(read, wanted, taskSortKey, page);
}

/** The key by which lists of tasks are sorted, newest first. */
export const taskSortKey = (record: TaskRecord): string => `${record.created_at}#${record.task_id}`;

/** True for a task that waits for another attempt after a failed one. */
export const isRetrying = (record: TaskRecord, nowMs: number): boolean =>
  record.error_kind !== undefined &&
  record.attempts > 0 &&
  !isSuspended(record.waiting_for) &&
  statusAt(record, iso(nowMs)) === "pending";

/**
 * True for a record that a filter's status, type, tier and tags select. A task that runs `onFailed` is shown beside its
 * failed task: a list has it only when it asks for the type.
 */
export const isSelected = (filter: TaskFilter, record: TaskRecord, nowMs: number): boolean =>
  (filter.type !== undefined || record.type !== onFailedName) &&
  (filter.status === undefined || statusAt(record, iso(nowMs)) === filter.status) &&
  (filter.retrying === undefined || filter.retrying === isRetrying(record, nowMs)) &&
  (filter.type === undefined || record.type === filter.type) &&
  (filter.priority === undefined || record.priority === filter.priority) &&
  (filter.uniqueKey === undefined || hasUniqueKey(record, filter.uniqueKey)) &&
  Object.entries(filter.tags ?? {}).every(([name, value]) => record.tags?.[name] === value);

/** Reads pages until enough items are wanted. */
export async function collect(
  read: (from: string | undefined, limit: number) => Promise<Page<TaskRecord>>,
  wanted: (record: TaskRecord) => boolean,
  sortKey: (record: TaskRecord) => string,
  { limit, from }: PageQuery,
): Promise<Page<TaskRecord>> {
  const items: TaskRecord[] = [];
  let next = from;
  for (let pages = 0; pages < maxPages; pages++) {
    const page = await read(next, limit);
    for (const record of page.items) {
      if (!wanted(record)) continue;
      if (items.length === limit) return { items, next: sortKeyOfLast(items, sortKey) };
      items.push(record);
    }
    next = page.next;
    if (next === undefined) return { items, next: undefined };
    if (items.length === limit) break;
  }
  return { items, next };
}

function sortKeyOfLast(items: readonly TaskRecord[], sortKey: (record: TaskRecord) => string): string | undefined {
  const last = items.at(-1);
  return last === undefined ? undefined : sortKey(last);
}

/** Pages of children that one answer reads: a filter that matches little makes short pages instead of long waits. */
const maxChildPages = 10;

/**
 * One page of a task's children, in the order of their spawn. `next` is the position of the next child: `page.place`.
 */
export async function listChildren(
  ports: FamilyReadPorts & { clock: Clock },
  parent: TaskRecord,
  status: Status | undefined,
  { limit, from }: { limit: number; from: string | undefined },
): Promise<Page<TaskRecord>> {
  const now = ports.clock.now();
  const [firstPage = 0, firstPlace = 0] = from?.split(".").map(Number) ?? [];
  const matches = (child: TaskRecord): boolean =>
    isKept(child, now) && (status === undefined || statusAt(child, iso(now)) === status);
  const items: TaskRecord[] = [];
  let pages = 0;
  for await (const { page, children } of childPages(ports, parent, firstPage)) {
    if (pages === maxChildPages) return { items, next: `${page}.0` };
    const first = page === firstPage ? firstPlace : 0;
    pages += 1;
    const found = children.filter((child) => (child.family_place ?? 0) >= first && matches(child));
    const next = found[limit - items.length];
    items.push(...found.slice(0, limit - items.length));
    if (next !== undefined) return { items, next: `${page}.${next.family_place ?? 0}` };
  }
  return { items, next: undefined };
}

/** Numbers of a tenant's tasks, as clients see them: the names are part of the API. */
export interface TenantCounts {
  /** Tasks that have not ended. */
  open: number;
  /** Pending tasks that wait for another attempt after a failed one. */
  retrying: number;
  dead_letters: number;
  /** False: older tasks were not counted, as there are too many. */
  complete: boolean;
}

/** The newest tasks and dead letters of a tenant that are counted, at most: no index counts them. */
export const maxCounted = 1_000;

const pageSize = 100;

/** Counts a tenant's newest tasks and dead letters. Stops at `endMs`. */
export async function countTenant(
  { records, clock }: { records: Records; clock: Clock },
  tenantId: string,
  endMs: number,
): Promise<TenantCounts> {
  const now = clock.now();
  const counts: TenantCounts = { open: 0, retrying: 0, dead_letters: 0, complete: true };
  const read = async (
    pageFrom: (from: string | undefined) => Promise<Page<TaskRecord>>,
    count: (record: TaskRecord) => void,
  ): Promise<void> => {
    let from: string | undefined;
    for (let seen = 0; seen < maxCounted && clock.now() < endMs; seen += pageSize) {
      const page = await pageFrom(from);
      for (const record of page.items) if (isKept(record, now)) count(record);
      from = page.next;
      if (from === undefined) return;
    }
    counts.complete = false;
  };
  await Promise.all([
    read(
      (from) => records.list({ tenantId, limit: pageSize, from }),
      (record) => {
        if (hasEnded(record, now)) return;
        counts.open += 1;
        if (isRetrying(record, now)) counts.retrying += 1;
      },
    ),
    read(
      (from) => records.listDeadLetters({ tenantId, limit: pageSize, from }),
      (record) => {
        if (record.dead_letter_at !== undefined) counts.dead_letters += 1;
      },
    ),
  ]);
  return counts;
}

/** Maximum bytes of the items in one answer: Lambda refuses an answer of more than 6 MB. */
const maxBytes = 5_000_000;

/** The room in one answer for the items of a list. */
export class AnswerRoom {
  #bytes = 0;

  /** Takes an item into the answer if it fits. The first item always fits, as a list must not stop at it. */
  takes(item: unknown): boolean {
    // Lambda's answer is JSON that contains the body as a text, so the body's quotes and backslashes are escaped once
    // more.
    const bytes = Buffer.byteLength(JSON.stringify(JSON.stringify(item)));
    if (this.#bytes > 0 && this.#bytes + bytes > maxBytes) return false;
    this.#bytes += bytes;
    return true;
  }
}
