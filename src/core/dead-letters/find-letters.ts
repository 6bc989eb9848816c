import type { Envelope } from "../envelope.ts";
import type { ErrorKind } from "../errors.ts";
import { collect } from "../list.ts";
import type { Clock, Page, Records } from "../ports.ts";
import { Problem } from "../problem.ts";
import { isKept, type TaskRecord } from "../record.ts";
import type { Tier } from "../tier.ts";

/** Which dead letters. Absent: any. */
export interface DeadLetterFilter {
  type?: string | undefined;
  errorType?: string | undefined;
  errorKind?: ErrorKind | undefined;
  priority?: Tier | undefined;
  /** ISO times of the last failure; `after` is included, `before` is not. */
  failedAfter?: string | undefined;
  failedBefore?: string | undefined;
}

/** A dead letter as clients see it: the fields and order of the contract. */
export interface DeadLetterView {
  task_id: string;
  type: string;
  tenant_id: string;
  priority: Tier;
  attempts: number;
  error: string | null;
  error_type: string | null;
  error_kind: ErrorKind | null;
  first_failed_at: string;
  last_failed_at: string;
  needs_review: boolean;
  input: unknown;
}

interface ReadPorts {
  records: Records;
  clock: Clock;
}

/** The most dead letters that an operation looks at: the answer to its request says how many it matched, so they are all read for it. */
export const mostLetters = 10_000;

const pageSize = 100;

/** One page of a tenant's dead letters, newest first. */
export async function listDeadLetters(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
  page: { limit: number; from: string | undefined },
): Promise<Page<DeadLetterView>> {
  const fits = fitting(ports, filter);
  const wanted = (record: TaskRecord) => fits(record) && (page.from === undefined || sortKey(record) < page.from);
  const read = (from: string | undefined, limit: number) =>
    ports.records.listDeadLetters({ ...spanOf(tenantId, filter), limit, from });
  const { items, next } = await collect(read, wanted, sortKey, page);
  return { items: await Promise.all(items.map((record) => viewOf(ports, record))), next };
}

const sortKey = (record: TaskRecord): string => `${record.dead_letter_at}#${record.task_id}`;

const spanOf = (tenantId: string, { failedAfter, failedBefore }: DeadLetterFilter) => ({
  tenantId,
  failedAfter,
  failedBefore,
});

/**
 * Whether a record is a dead letter that fits. The index may be behind the records: one that has left since does not fit, and
 * one that failed again meanwhile is found twice, of which the first time counts.
 */
function fitting(ports: ReadPorts, filter: DeadLetterFilter): (record: TaskRecord) => boolean {
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
    first_failed_at: record.first_failed_at ?? failedAt,
    last_failed_at: failedAt,
    needs_review: record.needs_review === true,
    input: envelope?.input ?? null,
  };
}

/**
 * Every dead letter that fits: exactly, or not at all.
 * @throws Problem `invalid_input` when there are more to look at than an operation can finish with
 */
export async function matchByFilter(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
): Promise<TaskRecord[]> {
  const fits = fitting(ports, filter);
  const matched: TaskRecord[] = [];
  let looked = 0;
  let from: string | undefined;
  do {
    const page = await ports.records.listDeadLetters({ ...spanOf(tenantId, filter), limit: pageSize, from });
    looked += page.items.length;
    if (looked > mostLetters) throw tooMany();
    matched.push(...page.items.filter(fits));
    from = page.next;
  } while (from !== undefined);
  return matched;
}

const tooMany = () =>
  new Problem(
    "invalid_input",
    `filter: more than ${mostLetters} dead letters lie in its time span, the most that one operation looks at; ` +
      "narrow it with failed_after and failed_before.",
    { errors: [{ path: "/filter", message: `expected a time span with at most ${mostLetters} dead letters` }] },
  );

/** Those of the tenant's tasks with these ids that are dead letters. */
export async function matchByIds(
  ports: ReadPorts,
  tenantId: string,
  taskIds: readonly string[],
): Promise<TaskRecord[]> {
  const fits = fitting(ports, {});
  const found = await Promise.all(taskIds.map((taskId) => ports.records.get({ tenant_id: tenantId, task_id: taskId })));
  return found.filter((record) => record !== undefined).filter(fits);
}
