import { hasEnded, isKept, type TaskRecord } from "../model/record.ts";
import type { Clock, Page, Records } from "../ports/tasks.ts";
import { isRetrying } from "./list.ts";

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
export const mostCounted = 1_000;

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
    for (let seen = 0; seen < mostCounted && clock.now() < endMs; seen += pageSize) {
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
