import type { ScheduleView } from "../../../src/client/schedule-calls.ts";

/** A schedule that is past its end is shown for so long, in milliseconds. */
const endedMs = 86_400_000;

/**
 * The reason why a schedule does not run: refused, skipped, paused, past its end, or of a type that is gone. Undefined:
 * it runs.
 * @param types Undefined: they are not read yet.
 */
export function scheduleFault(
  schedule: ScheduleView,
  types: readonly { name: string }[] | undefined,
  nowMs: number,
): { text: string; since: string | null } | undefined {
  const { enabled, last_error, last_skipped_at, last_run_at, ends_at, task } = schedule;
  if (!enabled) {
    const { paused_by: by } = schedule;
    return { text: by === null ? "paused" : `paused by ${by}`, since: schedule.paused_since };
  }
  if (types?.every(({ name }) => name !== task.type)) {
    return { text: `its type ${task.type} does not exist any more`, since: schedule.last_error_at };
  }
  if (last_error !== null) return { text: last_error, since: schedule.last_error_at };
  if (last_skipped_at !== null && last_skipped_at > (last_run_at ?? "")) {
    return { text: `its last time was skipped: ${schedule.last_skip_reason ?? "no reason"}`, since: last_skipped_at };
  }
  // The schedule was given its end on purpose: it is no trouble after a day.
  const ended = ends_at !== null && nowMs > Date.parse(ends_at) && nowMs < Date.parse(ends_at) + endedMs;
  return ended ? { text: "past its end: it does not run any more", since: ends_at } : undefined;
}
