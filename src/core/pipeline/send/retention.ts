import type { Change } from "../../model/change.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../../model/record.ts";
import type { Clock } from "../../ports/tasks.ts";

/** The times until which a task that ends now is kept. */
export function retention(ports: { clock: Clock }, record: Pick<TaskRecord, "retention_seconds">) {
  const until = ports.clock.now() + record.retention_seconds * 1000;
  return { retained_until: iso(until), purge_at: Math.ceil(until / 1000) };
}

/** A dead letter is kept for at least this long after its failure, in seconds: as long as its message in the DLQ. */
export const deadLetterSeconds = 14 * 86_400;

/** The times until which a task that fails now is kept. */
export const deadLetterRetention = (ports: { clock: Clock }, record: TaskRecord) =>
  retention(ports, { retention_seconds: Math.max(record.retention_seconds, deadLetterSeconds) });

/** The condition that `retention` was computed from the record's present retention: `extend` may raise it. */
export const sameRetention = (record: TaskRecord) => ({ retention_seconds: { is: record.retention_seconds } }) as const;

/** The record outlives the wait: it is kept for as long after the due time as a new task's record. */
export const purgeAtOfWaiting = (record: TaskRecord, dueAt: number): number =>
  Math.max(record.purge_at, Math.ceil(dueAt / 1000) + longestQueueLifeSeconds + record.retention_seconds);

/**
 * A marked task is kept for at least this long after its end, in seconds: two passes of the daily reconciliation may
 * fail.
 */
const marked = { retention_seconds: 3 * 86_400 };

/**
 * The retention of a task that ends now with the mark by which the daily reconciliation follows it up: until that is
 * done.
 */
export function markedRetention(ports: { clock: Clock }, record: TaskRecord) {
  const kept = retention(ports, record);
  const purge_at = Math.max(kept.purge_at, retention(ports, marked).purge_at);
  return { ...kept, purge_at, rescued_at: iso(ports.clock.now()) };
}

/** The change that ends a task which did not start before `start_by`. */
export function expiryOf(ports: { clock: Clock }, record: TaskRecord): Change {
  const now = iso(ports.clock.now());
  return {
    when: { status: { is: "pending" }, attempts_total: { is: 0 }, start_by: { atMost: now }, ...sameRetention(record) },
    set: { status: "expired", updated_at: now, finished_at: now, ...retention(ports, record) },
    remove: ["kept_input"],
  };
}
