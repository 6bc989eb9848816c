import { createHash } from "../../util/node-crypto.ts";
import type { Envelope } from "../model/envelope.ts";
import type { ErrorKind } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import { isKept, type TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/words.ts";
import type { Clock, Page, Records } from "../ports/tasks.ts";
import type { TenantList } from "../schedules/ports.ts";
import { mergeTenants, type PageQuery, placeBehind } from "./all-tenants.ts";
import { AnswerRoom, collect } from "./list.ts";

/*
 * The fingerprint of a dead letter is equal for errors of one cause. It is computed when it is read, so that a change
 * of these rules needs no change of stored records. Errors quote what clients sent: no expression tries a part of a
 * text again from each of its characters.
 */

/** Length of a fingerprint in hexadecimal digits. */
const digits = 16;

/** Texts in quotes. An apostrophe within a word opens none. */
const quoted = /"[^"\n]*"|`[^`\n]*`|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu;

/** The query of a URL, if it has a `=`. */
const query = /\?[^\s"'`)\]}>,]+/gu;

const time = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?/gu;

/** A word with all that ids and the parts of a path are made of. */
const word = /[\p{L}\p{N}_-]+/gu;

const hasNumber = /\p{N}/u;
const isHex = /^[0-9a-f]{8,}$/iu;

/** Several variable parts in a row, such as an address with its port, or a list. */
const row = /[-+]?#%?(?:[.,:;/@%+-]{0,2} ?#%?)*/gu;

/**
 * Returns an error's text with its variable parts replaced: ids, numbers, hexadecimal numbers, quoted texts, times,
 * parts of paths with numbers.
 */
export const withoutVariables = (text: string): string =>
  text
    .replaceAll(quoted, "#")
    .replaceAll(time, "#")
    .replaceAll(query, (part) => (part.includes("=") ? "" : part))
    .replaceAll(word, (part) => (hasNumber.test(part) || isHex.test(part) ? "#" : part))
    .replaceAll(row, "#")
    .replaceAll(/\s+/gu, " ")
    .trim();

/**
 * Fingerprint of a task's last error: 16 hexadecimal digits, equal for errors of one class whose texts differ in their
 * variable parts only.
 */
export const errorFingerprint = ({ error_type, error }: Pick<TaskRecord, "error_type" | "error">): string =>
  createHash("sha256")
    .update(JSON.stringify([error_type ?? "", withoutVariables(error ?? "")]))
    .digest("hex")
    .slice(0, digits);

/** Filter for dead letters. Absent fields match any value. */
export interface DeadLetterFilter {
  type?: string | undefined;
  errorType?: string | undefined;
  errorKind?: ErrorKind | undefined;
  /** Fingerprint of the error, from a dead letter or a group. */
  fingerprint?: string | undefined;
  priority?: Tier | undefined;
  /** ISO times of the last failure; `after` is included, `before` is not. */
  failedAfter?: string | undefined;
  failedBefore?: string | undefined;
}

/** A dead letter as clients see it: names and order of the fields are part of the API. */
export interface DeadLetterView {
  task_id: string;
  type: string;
  tenant_id: string;
  priority: Tier;
  attempts: number;
  error: string | null;
  error_type: string | null;
  error_kind: ErrorKind | null;
  /** Equal for errors of one class whose texts differ only in ids, numbers and the like. */
  fingerprint: string;
  first_failed_at: string;
  last_failed_at: string;
  needs_review: boolean;
  /** Places of the last error and its causes. Null: there is no error with a place, or the type is sensitive. */
  stack: string | null;
  /** The failed task whose `onFailed` failed. Null: the letter is of another type. */
  caused_by: string | null;
  input: unknown;
}

export interface ReadPorts {
  records: Records;
  clock: Clock;
}

/**
 * Maximum number of dead letters that a filter reads for an operation or for groups: they are all read while the
 * request waits.
 */
export const maxDeadLetters = 10_000;

/** Number of dead letters that a filter reads at once. */
export const pageSize = 100;

/** Number of inputs that are loaded at the same time. */
const inputsAtOnce = 10;

/** Returns one page of a tenant's dead letters, newest first. It ends early when the inputs fill an answer. */
export const listDeadLetters = async (ports: ReadPorts, tenantId: string, filter: DeadLetterFilter, page: PageQuery) =>
  viewDeadLetters(ports, await pageOfDeadLetters(ports, tenantId, filter, page), deadLetterSortKey);

/** Returns one page of the dead letters of all tenants, as `mergeTenants` does. */
export async function listDeadLettersOfAll(
  ports: ReadPorts & { tenants: TenantList },
  filter: DeadLetterFilter,
  page: PageQuery,
): Promise<Page<DeadLetterView>> {
  const read = (tenantId: string, one: PageQuery) => pageOfDeadLetters(ports, tenantId, filter, one);
  const found = await mergeTenants(ports.tenants, { keyOf: deadLetterSortKey, read }, page);
  return viewDeadLetters(ports, found, (record) => placeBehind(page.from, deadLetterSortKey(record)));
}

function pageOfDeadLetters(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
  page: PageQuery,
): Promise<Page<TaskRecord>> {
  const matches = matcherFor(ports, filter);
  const isOfPage = (record: TaskRecord) =>
    matches(record) && (page.from === undefined || deadLetterSortKey(record) < page.from);
  const read = (from: string | undefined, limit: number) =>
    ports.records.listDeadLetters({ ...spanOf(tenantId, filter), limit, from });
  return collect(read, isOfPage, deadLetterSortKey, page);
}

/**
 * Loads the inputs of a page of dead letters. The page ends early when they fill an answer.
 * @param positionOf The place behind a record, from which the next page goes on.
 */
async function viewDeadLetters(
  ports: ReadPorts,
  { items, next }: Page<TaskRecord>,
  positionOf: (record: TaskRecord) => string,
): Promise<Page<DeadLetterView>> {
  const views: DeadLetterView[] = [];
  const room = new AnswerRoom();
  for (let start = 0; start < items.length; start += inputsAtOnce) {
    const some = items.slice(start, start + inputsAtOnce);
    for (const view of await Promise.all(some.map((record) => viewOf(ports, record)))) {
      const before = items[views.length - 1];
      if (!room.takes(view) && before !== undefined) return { items: views, next: positionOf(before) };
      views.push(view);
    }
  }
  return { items: views, next };
}

/** The key by which lists of dead letters are sorted, newest first. */
const deadLetterSortKey = (record: TaskRecord): string => `${record.dead_letter_at}#${record.task_id}`;

const spanOf = (tenantId: string, { failedAfter, failedBefore }: DeadLetterFilter) => ({
  tenantId,
  failedAfter,
  failedBefore,
});

/**
 * Returns a function that is true for dead letters that match. The index may be older than the records: a task that is
 * no longer a dead letter does not match, and a task that failed again may be listed twice, of which only the first
 * matches.
 */
function matcherFor(ports: ReadPorts, filter: DeadLetterFilter): (record: TaskRecord) => boolean {
  const now = ports.clock.now();
  const seen = new Set<string>();
  const exact: [unknown, keyof TaskRecord][] = [
    [filter.type, "type"],
    [filter.errorType, "error_type"],
    [filter.errorKind, "error_kind"],
    [filter.priority, "priority"],
  ];
  return (record) => {
    const { dead_letter_at: at, task_id: id } = record;
    if (at === undefined || !isKept(record, now) || seen.has(id)) return false;
    seen.add(id);
    if (at < (filter.failedAfter ?? at)) return false;
    if (filter.failedBefore !== undefined && at >= filter.failedBefore) return false;
    if (filter.fingerprint !== undefined && errorFingerprint(record) !== filter.fingerprint) return false;
    return exact.every(([value, field]) => value === undefined || record[field] === value);
  };
}

async function viewOf(ports: ReadPorts, record: TaskRecord): Promise<DeadLetterView> {
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  const failedAt = record.dead_letter_at ?? record.updated_at;
  return {
    task_id: record.task_id,
    type: record.type,
    tenant_id: record.tenant_id,
    priority: record.priority,
    attempts: record.attempts,
    error: record.error ?? null,
    error_type: record.error_type ?? null,
    error_kind: record.error_kind ?? null,
    fingerprint: errorFingerprint(record),
    first_failed_at: record.first_failed_at ?? failedAt,
    last_failed_at: failedAt,
    needs_review: record.needs_review === true,
    stack: record.history.at(-1)?.stack ?? null,
    caused_by: record.caused_by ?? null,
    input: envelope?.input ?? null,
  };
}

/**
 * Reads the dead letters of a filter's time span page by page, newest first. `read`: number of those read so far, also
 * of those that do not match. `more`: true when another page follows.
 */
export async function* readDeadLetters(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
): AsyncGenerator<{ read: number; matched: TaskRecord[]; more: boolean }, void, undefined> {
  const matches = matcherFor(ports, filter);
  let read = 0;
  let from: string | undefined;
  do {
    const page = await ports.records.listDeadLetters({ ...spanOf(tenantId, filter), limit: pageSize, from });
    read += page.items.length;
    from = page.next;
    yield { read, matched: page.items.filter(matches), more: from !== undefined };
  } while (from !== undefined);
}

/** Number of records that an operation's filter has read, over all tenants that it acts on. */
export interface ReadSoFar {
  read: number;
}

/**
 * Returns all dead letters that match a filter.
 * @throws Problem `invalid_input` when the filter's time span has more than `maxLetters`
 */
export async function matchByFilter(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
  sum: ReadSoFar = { read: 0 },
): Promise<TaskRecord[]> {
  const all: TaskRecord[] = [];
  let before = 0;
  for await (const { read, matched } of readDeadLetters(ports, tenantId, filter)) {
    sum.read += read - before;
    before = read;
    if (sum.read > maxDeadLetters) throw tooMany();
    all.push(...matched);
  }
  return all;
}

const tooMany = () =>
  new Problem(
    "invalid_input",
    `filter: its time span has more than ${maxDeadLetters} dead letters, the maximum for one operation. ` +
      "Narrow it with failed_after and failed_before.",
    { errors: [{ path: "/filter", message: `expected a time span with at most ${maxDeadLetters} dead letters` }] },
  );

/** Returns those of the tenant's tasks with the given ids that are dead letters. */
export async function matchByIds(
  ports: ReadPorts,
  tenantId: string,
  taskIds: readonly string[],
): Promise<TaskRecord[]> {
  const matches = matcherFor(ports, {});
  const found = await Promise.all(taskIds.map((taskId) => ports.records.get({ tenant_id: tenantId, task_id: taskId })));
  return found.filter((record) => record !== undefined).filter(matches);
}
