import type { Identity } from "./identity.ts";
import { isSelected, type TaskFilter } from "./list.ts";
import type { Clock, Page, Records } from "./ports.ts";
import { isKept, type TaskRecord } from "./record.ts";
import { searchTerms } from "./search-terms.ts";

/*
 * A search has two parts. The first finds tasks by their terms, which the store has in an order of their own: tags and given correlation ids. The
 * second looks at the tasks of the list, newest first, for all that terms do not find: the start of an id, the error's text, a correlation id that
 * Offload made. A submitter's search has only the second part, of its own list: what others have submitted changes nothing in its answers.
 */

/** Tasks that the second part reads at a time, and the most of one answer. */
const pageSize = 1_000;
const mostRead = 20_000;

/** The second part begins no further page after this time, in milliseconds, so that each answer is quick. */
const scanMs = 600;

/** The shortest start of a task's id that a search finds. */
const leastIdCharacters = 4;

export interface SearchPorts {
  records: Records;
  clock: Clock;
}

interface Search {
  identity: Identity;
  filter: TaskFilter;
  /** Lower case. */
  text: string;
  nowMs: number;
}

/** Position in a search: its part, and the sort key behind which it goes on. Empty: at the start. */
interface Position {
  part: "term" | "scan";
  from: string | undefined;
}

/**
 * One page of the tasks that a text finds. Those found by a term come first; both parts are newest first. A page may be short, or empty, although
 * others follow.
 * @param text 1 to 128 characters. Case does not count.
 * @param page `from`: `next` of the page before.
 */
export async function searchTasks(
  ports: SearchPorts,
  identity: Identity,
  filter: TaskFilter,
  text: string,
  page: { limit: number; from: string | undefined },
): Promise<Page<TaskRecord>> {
  const search: Search = { identity, filter, text: text.toLowerCase(), nowMs: ports.clock.now() };
  const position = positionOf(page.from, identity);
  const items: TaskRecord[] = page.from === undefined ? await byWholeId(ports, search) : [];
  if (position.part === "term") {
    const found = await byTerm(ports, search, position.from, page.limit - items.length);
    items.push(...found.items);
    if (found.next !== undefined) return { items, next: `term:${found.next}` };
    if (items.length >= page.limit) return { items, next: "scan:" };
    position.from = undefined;
  }
  const scanned = await scan(ports, search, position.from, page.limit - items.length);
  items.push(...scanned.items);
  return { items, next: scanned.next === undefined ? undefined : `scan:${scanned.next}` };
}

function positionOf(from: string | undefined, { role }: Identity): Position {
  if (from === undefined) return { part: role === "submitter" ? "scan" : "term", from };
  const [part = "", ...rest] = from.split(":");
  return { part: part === "term" ? "term" : "scan", from: rest.join(":") || undefined };
}

/** True for a record that is still kept and that the filter selects. */
const isAllowed = (filter: TaskFilter, record: TaskRecord, nowMs: number): boolean =>
  isKept(record, nowMs) &&
  isSelected(filter, record, nowMs) &&
  record.created_at >= (filter.createdAfter ?? "") &&
  (filter.createdBefore === undefined || record.created_at < filter.createdBefore);

/** The task whose id the text is. */
async function byWholeId(ports: SearchPorts, { identity, filter, text, nowMs }: Search): Promise<TaskRecord[]> {
  if (text.length !== 36) return [];
  const record = await ports.records.get({ tenant_id: identity.tenantId, task_id: text });
  const isOwn = identity.role !== "submitter" || record?.requested_by === identity.principal;
  return record !== undefined && isOwn && isAllowed(filter, record, nowMs) ? [record] : [];
}

/** The tasks that have the text as a term. */
async function byTerm(
  ports: SearchPorts,
  search: Search,
  from: string | undefined,
  limit: number,
): Promise<Page<TaskRecord>> {
  const { identity, filter, text, nowMs } = search;
  if (limit <= 0) return { items: [], next: from ?? newest };
  const { items, next } = await ports.records.list({
    tenantId: identity.tenantId,
    term: termOf(text),
    createdAfter: filter.createdAfter,
    createdBefore: filter.createdBefore,
    limit,
    from,
  });
  return { items: items.filter((record) => hasTerm(record, text) && isAllowed(filter, record, nowMs)), next };
}

/** Sorts behind every sort key: the search goes on at the newest task. */
const newest = "~";

/** The tasks of the list that the text finds otherwise. */
async function scan(
  ports: SearchPorts,
  search: Search,
  from: string | undefined,
  limit: number,
): Promise<Page<TaskRecord>> {
  const { identity, filter } = search;
  const startedMs = ports.clock.now();
  const items: TaskRecord[] = [];
  let next = from;
  for (let read = 0; read < mostRead && ports.clock.now() - startedMs < scanMs; read += pageSize) {
    const page = await ports.records.list({
      tenantId: identity.tenantId,
      requestedBy: identity.role === "submitter" ? identity.principal : undefined,
      createdAfter: filter.createdAfter,
      createdBefore: filter.createdBefore,
      type: filter.type,
      priority: filter.priority,
      limit: pageSize,
      from: next,
    });
    for (const record of page.items) {
      if (!isFound(search, record)) continue;
      items.push(record);
      if (items.length === limit) return { items, next: sortKey(record) };
    }
    next = page.next;
    if (next === undefined) break;
  }
  return { items, next };
}

const sortKey = (record: TaskRecord): string => `${record.created_at}#${record.task_id}`;

/** True for a task that the second part finds, and the first one does not. */
function isFound({ identity, filter, text, nowMs }: Search, record: TaskRecord): boolean {
  const isByTerm = hasTerm(record, text);
  if (identity.role !== "submitter" && isByTerm) return false;
  if (record.task_id === text || !isAllowed(filter, record, nowMs)) return false;
  return (
    isByTerm ||
    (text.length >= leastIdCharacters && record.task_id.startsWith(text)) ||
    record.correlation_id.toLowerCase() === text ||
    record.error?.toLowerCase().includes(text) === true
  );
}

/** The term of a text: of `name=value` the value. */
const termOf = (text: string): string => /^[a-z0-9_.-]{1,64}=(.+)$/s.exec(text)?.[1] ?? text;

/** True when the text is one of the record's terms, or `name=value` of one of its tags. */
function hasTerm(record: TaskRecord, text: string): boolean {
  const term = termOf(text);
  if (term === text) return searchTerms(record).includes(text);
  const name = text.slice(0, text.length - term.length - 1);
  return record.tags?.[name]?.toLowerCase() === term;
}
