import { AnswerRoom } from "../model/answer-room.ts";
import type { ErrorKind } from "../model/errors.ts";
import type { TaskRecord } from "../model/record.ts";
import { type DeadLetterFilter, mostLetters, pageSize, type ReadPorts, readLetters } from "./find-letters.ts";
import { errorFingerprint } from "./fingerprint.ts";

/** Dead letters of one type with one fingerprint, as clients see them: names and order of the fields are part of the API. */
export interface LetterGroupView {
  fingerprint: string;
  type: string;
  error_type: string | null;
  /** Of the newest dead letter, as `error` and `task_id`. */
  error_kind: ErrorKind | null;
  error: string | null;
  count: number;
  first_failed_at: string;
  last_failed_at: string;
  task_id: string;
}

/** The groups of a filter's dead letters. */
export interface LetterGroups {
  /** The largest group first. */
  groups: LetterGroupView[];
  /** False: older dead letters were not read, as there are too many, or the time was over. */
  complete: boolean;
}

/** No page is read after this time, in milliseconds: the last one still has its time before the request must be answered. */
const mostReadMs = 3_500;

/** Groups a tenant's dead letters by type and fingerprint. It reads the newest `mostLetters` of the filter's time span at most. */
export async function groupDeadLetters(
  ports: ReadPorts,
  tenantId: string,
  filter: DeadLetterFilter,
): Promise<LetterGroups> {
  const endMs = ports.clock.now() + mostReadMs;
  const groups = new Map<string, LetterGroupView>();
  let complete = true;
  for await (const { read, matched, more } of readLetters(ports, tenantId, filter)) {
    for (const record of matched) addTo(groups, record);
    complete = !more;
    if (read + pageSize > mostLetters || ports.clock.now() >= endMs) break;
  }
  const largestFirst = [...groups.values()].sort((a, b) => b.count - a.count);
  const room = new AnswerRoom();
  const fitting = largestFirst.filter((group) => room.takes(group));
  return { groups: fitting, complete: complete && fitting.length === largestFirst.length };
}

/** Adds a dead letter to its group. They come newest first, so that the first one of a group is its newest. */
function addTo(groups: Map<string, LetterGroupView>, record: TaskRecord): void {
  const fingerprint = errorFingerprint(record);
  const key = `${record.type} ${fingerprint}`;
  const failedAt = record.dead_letter_at ?? record.updated_at;
  const firstFailedAt = record.first_failed_at ?? failedAt;
  const group = groups.get(key);
  if (group !== undefined) {
    group.count += 1;
    if (firstFailedAt < group.first_failed_at) group.first_failed_at = firstFailedAt;
    return;
  }
  groups.set(key, {
    fingerprint,
    type: record.type,
    error_type: record.error_type ?? null,
    error_kind: record.error_kind ?? null,
    error: record.error ?? null,
    count: 1,
    first_failed_at: firstFailedAt,
    last_failed_at: failedAt,
    task_id: record.task_id,
  });
}
