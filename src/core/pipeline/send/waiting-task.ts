import { type Envelope, latestCreatedAt } from "../../model/envelope.ts";
import { iso, type TaskRecord } from "../../model/record.ts";
import type { Clock, NewId, Records } from "../../ports/tasks.ts";
import { keptEnvelope } from "./kept-input.ts";
import { purgeAtOfWaiting } from "./retention.ts";

/** True when a task waits for the first of all its attempts. */
export const isUnstarted = ({ status, attempts_total, round }: TaskRecord): boolean =>
  status === "pending" && attempts_total === 0 && round === 1;

/**
 * The fields of a waiting task that starts at another time. The time until which it has to start begins when it is due.
 */
export function movedStart(record: TaskRecord, dueMs: number) {
  const due_at = iso(dueMs);
  const { start_by: startBy } = record;
  const expiresAt = startBy && iso(dueMs + Date.parse(startBy) - Date.parse(record.due_at));
  return {
    due_at,
    purge_at: purgeAtOfWaiting(record, dueMs),
    ...(isUnstarted(record) && { run_at: due_at }),
    ...(expiresAt && { expires_at: expiresAt, start_by: expiresAt }),
  };
}

/** A waiting task's message, from its record or the copy beside it; not that of an earlier task with the same id. */
export async function waitingEnvelope(
  ports: { clock: Clock; newId: NewId; records: Records },
  record: TaskRecord,
): Promise<Envelope | undefined> {
  const kept = keptEnvelope(ports, record);
  if (kept !== undefined) return kept;
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  return envelope !== undefined && record.created_at <= latestCreatedAt(envelope) ? envelope : undefined;
}
