import { iso, type TaskRecord } from "../../model/record.ts";
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
