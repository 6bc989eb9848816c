import type { Attempt, TaskRecord } from "../../model/record.ts";
import type { Tier } from "../../model/words.ts";
import { type Clock, type Log, type Metrics, traceIdOf } from "../../ports/tasks.ts";
import type { Settled } from "../../task/limiter.ts";

/*
 * Every change of a task's status is reported here: one log line, and its metrics. Neither contains inputs or results.
 * An error appears with its class and kind, and with its message and stack unless the task's type is sensitive.
 */

export interface ReportPorts {
  log: Log;
  metrics: Metrics;
}

/** Fields that name the task in a log line. */
export const taskFields = (record: TaskRecord) => {
  const trace_id = traceIdOf(record.traceparent);
  return {
    task_id: record.task_id,
    tenant_id: record.tenant_id,
    type: record.type,
    tier: record.priority,
    correlation_id: record.correlation_id,
    ...(trace_id === undefined ? {} : { trace_id }),
  };
};

/** Tier and type, by which metrics count a task. */
export const countedAs = (record: TaskRecord) => ({ tier: record.priority, type: record.type });

/** Reports an accepted task. */
export function reportSubmitted({ log, metrics }: ReportPorts, record: TaskRecord): void {
  metrics.add("submitted", 1, countedAs(record));
  log.info("task submitted", { ...taskFields(record), outcome: "submitted" });
}

/** Reports the start of an attempt. Its line has level debug: the line of the attempt's end says the same and more. */
export function reportStarted({ log, metrics }: ReportPorts, record: TaskRecord): void {
  metrics.add("started", 1, countedAs(record));
  metrics.add("queue_wait_ms", queueWaitMs(record), countedAs(record));
  log.debug("attempt started", { outcome: "started", queue_wait_ms: queueWaitMs(record) });
}

/** Reports a task that waits in a line. */
export function reportEnqueued({ log, metrics }: ReportPorts, record: TaskRecord): void {
  metrics.add("parked", 1, countedAs(record));
  log.info("task waits in a line", { ...taskFields(record), outcome: "parked", waiting_for: record.waiting_for?.kind });
}

/** Time from the attempt's due time to its start. */
const queueWaitMs = ({ due_at, started_at = due_at }: TaskRecord): number =>
  Math.max(0, Date.parse(started_at) - Date.parse(due_at));

/**
 * Reports a settled attempt. Its own worker settled it, or another one when that had died. The log has the task's
 * fields already.
 * @param claimed The record as the attempt had claimed it.
 * @param sensitive True when the error's message may quote an input that must not be logged.
 */
export function reportSettled(
  { log, metrics, clock }: ReportPorts & { clock: Clock },
  claimed: TaskRecord,
  { as, record }: Settled,
  sensitive: boolean,
): void {
  const durationMs = clock.now() - Date.parse(claimed.started_at ?? claimed.updated_at);
  const times = { duration_ms: durationMs, queue_wait_ms: queueWaitMs(claimed) };
  if (as === "stale" || record === undefined) {
    log.warn("attempt ended after it had lost its lease; its result was discarded", {
      attempt: claimed.attempts,
      outcome: "stale",
      ...times,
    });
    return;
  }
  // A suspended attempt has no entry in the history yet.
  const attempt: Partial<Attempt> = as === "suspended" ? {} : (record.history.at(-1) ?? {});
  const { outcome = as, error, error_kind, error_type, stack } = attempt;
  // Attempts in containers may take hours, which the tiers' alarms on slow processing would report.
  if (record.runs_on === undefined) metrics.add("processing_ms", durationMs, countedAs(record));
  countSettled(metrics, as, record, attempt);
  const detail = sensitive ? {} : { error, ...(stack === undefined ? {} : { stack }) };
  const failure = error_kind === undefined ? {} : { error_kind, error_type, ...detail };
  const level = as === "failed" ? "error" : as === "retried" ? "warn" : "info";
  log[level]("attempt settled", {
    attempt: claimed.attempts,
    outcome,
    status: record.status,
    ...times,
    ...failure,
    ...(as === "retried" || as === "suspended" ? { next_attempt_at: record.due_at } : {}),
  });
}

/** Counts the end of an attempt. A parent that waits for its children has not ended. */
function countSettled(
  metrics: Metrics,
  as: Exclude<Settled["as"], "stale">,
  record: TaskRecord,
  { outcome, error_kind }: Partial<Attempt>,
): void {
  const of = countedAs(record);
  if (as !== "waiting") metrics.add(as, 1, of);
  if (outcome === "crashed" || outcome === "timed_out") metrics.add(outcome, 1, of);
  if (error_kind === "rate_limited") metrics.add("throttled", 1, of);
}

/** Reports a change of status that no attempt made. */
export function reportChanged({ log, metrics }: ReportPorts, record: TaskRecord, outcome: ChangeOutcome): void {
  if (outcome === "completed" || outcome === "failed" || outcome === "cancelled") {
    metrics.add(outcome, 1, countedAs(record));
  }
  log.info(`task ${outcome}`, { ...taskFields(record), outcome, status: record.status });
}

/** Reports that a waiting task was moved to another tier. */
export function reportMoved({ log }: Pick<ReportPorts, "log">, record: TaskRecord, from: Tier): void {
  log.info("task moved", { ...taskFields(record), outcome: "moved", moved_from: from, status: record.status });
}

/** Reports that a waiting task has another input. */
export function reportInputChanged({ log }: Pick<ReportPorts, "log">, record: TaskRecord): void {
  log.info("task has another input", { ...taskFields(record), outcome: "input_changed", status: record.status });
}

/** Reports that a task that waited for its time is due. */
export function reportDue({ log }: Pick<ReportPorts, "log">, record: TaskRecord): void {
  log.info("task is due now", { ...taskFields(record), outcome: "run_now", status: record.status });
}

/** Reports that a waiting task starts at another time. */
export function reportRescheduled({ log }: Pick<ReportPorts, "log">, record: TaskRecord): void {
  log.info("task was rescheduled", { ...taskFields(record), outcome: "rescheduled", due_at: record.due_at });
}

type ChangeOutcome = "completed" | "failed" | "cancelled" | "expired" | "replayed" | "discarded";

/** Reports a message that had nothing to do: its task had ended, or an attempt of it was running. */
export function reportDuplicate({ log, metrics }: ReportPorts, record: TaskRecord, why: string): void {
  metrics.add("duplicates", 1, countedAs(record));
  log.info(why, { outcome: "skipped_duplicate", status: record.status });
}
