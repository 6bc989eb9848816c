import { isKept, searchTerms, type TaskRecord, termSeconds } from "../model/record.ts";
import type { Identity } from "../model/words.ts";
import type { Clock, ListQuery, Page, Records } from "../ports/tasks.ts";
import { isSelected, type TaskFilter } from "./list.ts";

/*
 * A search has parts, one after the other. The first ones find tasks by their terms, which the store has in an order of
 * their own: tags and given correlation ids. The last one looks at the tasks of the list, newest first, for all that
 * terms do not find: the start of an id, the error's text, a correlation id that Offload made, and the tags of tasks
 * that may be older than their terms. A submitter's search has only the last part, of its own list: what others have
 * submitted changes nothing in its answers.
 */

/** Tasks that a part reads at a time, and the most of one answer. */
const pageSize = 500;
const maxRead = 20_000;

/** An answer begins no further page after this time, in milliseconds, so that it is quick. */
const answerMs = 600;

/** The shortest start of a task's id that a search finds. */
const minIdCharacters = 4;

export interface SearchPorts {
  records: Records;
  clock: Clock;
}

interface Search {
  identity: Identity;
  filter: TaskFilter;
  /** Lower case. */
  text: string;
  /** The text as `name=value` of a tag. Undefined: it has another form. */
  tag: { name: string; value: string } | undefined;
  nowMs: number;
  /**
   * Time of the first answer: the parts share the tasks out by their age at this time, so that none is in two parts.
   */
  begunMs: number;
}

/**
 * `term`: tasks that have the text as a term. `tag`: tasks with a tag that the text names with its value. `scan`: the
 * others.
 */
type PartOfSearch = "term" | "tag" | "scan";

/** Position in a search: its part, and the sort key behind which it goes on. Undefined key: at the part's start. */
interface Position {
  part: string;
  begunMs: number;
  from: string | undefined;
}

/** An answer in the making. */
interface Answer {
  items: TaskRecord[];
  limit: number;
  /** Tasks read. */
  read: number;
}

/**
 * One page of the tasks that a text finds. Tasks found by a term come first; each part is newest first. A page may be
 * short, or empty, although others follow.
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
  const nowMs = ports.clock.now();
  const position = positionOf(page.from);
  const lower = text.toLowerCase();
  const search = { identity, filter, text: lower, tag: tagOf(lower), nowMs, begunMs: position?.begunMs ?? nowMs };
  const items = position === undefined ? await byWholeId(ports, search) : [];
  const answer: Answer = { items, limit: page.limit, read: 0 };
  const parts = partsOf(search);
  let from = position?.from;
  for (const part of parts.slice(parts.findIndex((name) => position === undefined || name === position.part))) {
    const next = await readPart(ports, search, part, from, answer);
    if (next !== undefined) return { items, next: `${part}:${search.begunMs}:${next}` };
    from = undefined;
  }
  return { items, next: undefined };
}

function positionOf(from: string | undefined): Position | undefined {
  if (from === undefined) return undefined;
  const [part = "", begun, ...rest] = from.split(":");
  return { part, begunMs: Number(begun), from: rest.join(":") || undefined };
}

function partsOf({ identity, tag }: Search): PartOfSearch[] {
  if (identity.role === "submitter") return ["scan"];
  return tag === undefined ? ["term", "scan"] : ["term", "tag", "scan"];
}

/** The tag that a text names with its value. */
function tagOf(text: string): Search["tag"] {
  const [, name, value] = /^([a-z0-9_.-]{1,64})=(.+)$/s.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : { name, value };
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
  return record !== undefined && isOwn && isAllowed({ ...filter, type: filter.type ?? record.type }, record, nowMs)
    ? [record]
    : [];
}

/**
 * Reads a part until it ends, or until the answer is full or has taken long enough. Every answer reads at least once,
 * so that a search comes to its end.
 * @returns the sort key behind which the part goes on, empty for its start. Undefined: the part has ended.
 */
async function readPart(
  ports: SearchPorts,
  search: Search,
  part: PartOfSearch,
  from: string | undefined,
  answer: Answer,
): Promise<string | undefined> {
  const query = queryOf(search, part);
  let next = from;
  // Most entries of a term are found tasks. Where they are not, for a filter or because the tasks were deleted, larger
  // pages follow.
  for (let size = part === "scan" ? pageSize : answer.limit; ; size = pageSize) {
    if (answer.items.length >= answer.limit || isLong(ports, search, answer)) return next ?? "";
    const page = await ports.records.list({ ...query, limit: size, from: next });
    answer.read += size;
    const last = take(search, part, page.items, answer);
    if (last !== undefined) return sortKey(last);
    next = page.next;
    if (next === undefined) return undefined;
  }
}

/** Adds the tasks that a part finds. Returns the task that made the answer full. */
function take(search: Search, part: PartOfSearch, records: readonly TaskRecord[], { items, limit }: Answer) {
  for (const record of records) {
    if (partOf(search, record) !== part || !isAllowed(search.filter, record, search.nowMs)) continue;
    items.push(record);
    if (items.length === limit) return record;
  }
  return undefined;
}

const isLong = ({ clock }: SearchPorts, { nowMs }: Search, { read }: Answer): boolean =>
  read >= maxRead || (read > 0 && clock.now() - nowMs >= answerMs);

const sortKey = (record: TaskRecord): string => `${record.created_at}#${record.task_id}`;

/** The list that a part reads. */
function queryOf({ identity, filter, text, tag }: Search, part: PartOfSearch): Omit<ListQuery, "limit" | "from"> {
  const { createdAfter, createdBefore, type, priority } = filter;
  const query = { tenantId: identity.tenantId, createdAfter, createdBefore };
  if (part !== "scan") return { ...query, term: part === "tag" ? tag?.value : text };
  return { ...query, requestedBy: identity.role === "submitter" ? identity.principal : undefined, type, priority };
}

/**
 * The one part that finds a record. Undefined: the text does not find it, or it is the record of the whole id, which is
 * found before.
 */
function partOf(search: Search, record: TaskRecord): PartOfSearch | undefined {
  const { identity, text, begunMs } = search;
  if (record.task_id === text) return undefined;
  const term = termPartOf(search, record);
  const hasTerms = identity.role !== "submitter" && Date.parse(record.created_at) + termSeconds * 1000 > begunMs;
  if (term !== undefined) return hasTerms ? term : "scan";
  const isFound =
    (text.length >= minIdCharacters && record.task_id.startsWith(text)) ||
    record.correlation_id.toLowerCase() === text ||
    record.error?.toLowerCase().includes(text) === true;
  return isFound ? "scan" : undefined;
}

function termPartOf({ text, tag }: Search, record: TaskRecord): "term" | "tag" | undefined {
  if (searchTerms(record).includes(text)) return "term";
  if (tag === undefined || !Object.hasOwn(record.tags ?? {}, tag.name)) return undefined;
  return record.tags?.[tag.name]?.toLowerCase() === tag.value ? "tag" : undefined;
}
