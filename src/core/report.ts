import type { Clock, Log, Metrics } from "./ports.ts";
import type { TaskRecord } from "./record.ts";
import type { Settled } from "./settle.ts";
import { traceIdOf } from "./tracing.ts";

/*
 * Every change of a task's status is told here: one log line, and what is counted of it. No line and no metric has payload
 * data: of an error there are its class and kind, and its message unless the task's type is sensitive.
 */

export interface ReportPorts {
  log: Log;
  metrics: Metrics;
}

/** Which task a log line is about. */
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

const countedAs = (record: TaskRecord) => ({ tier: record.priority, type: record.type });

/** A task was accepted. */
export function reportSubmitted({ log, metrics }: ReportPorts, record: TaskRecord, messageId: string): void {
  metrics.add("submitted", 1, countedAs(record));
  log.info("task submitted", { ...taskFields(record), message_id: messageId, outcome: "submitted" });
}

/** An attempt began. It makes no line of its own but for those who ask: its end says the same and more. */
export function reportStarted({ log, metrics }: ReportPorts, record: TaskRecord): void {
  metrics.add("started", 1, countedAs(record));
  metrics.add("queue_wait_ms", queueWaitMs(record), countedAs(record));
  log.debug("attempt started", { outcome: "started", queue_wait_ms: queueWaitMs(record) });
}

/** From when the attempt could have started to its start. */
const queueWaitMs = ({ due_at, started_at = due_at }: TaskRecord): number =>
  Math.max(0, Date.parse(started_at) - Date.parse(due_at));

/**
 * An attempt was settled: by its own worker, or, when that had died, by another. The log has the task's fields already.
 * @param claimed The record as the attempt had claimed it.
 * @param sensitive Whether the error's message may quote what no log may have.
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
    log.warn("attempt ended when it was no longer the task's", {
      attempt: claimed.attempts,
      outcome: "stale",
      ...times,
    });
    return;
  }
  const { outcome = as, error, error_kind, error_type } = record.history.at(-1) ?? {};
  const of = countedAs(record);
  metrics.add("processing_ms", durationMs, of);
  metrics.add(as, 1, of);
  if (outcome === "crashed" || outcome === "timed_out") metrics.add(outcome, 1, of);
  if (error_kind === "rate_limited") metrics.add("throttled", 1, of);
  const failure = error_kind === undefined ? {} : { error_kind, error_type, ...(sensitive ? {} : { error }) };
  const level = as === "failed" ? "error" : as === "retried" ? "warn" : "info";
  log[level]("attempt settled", {
    attempt: claimed.attempts,
    outcome,
    status: record.status,
    ...times,
    ...failure,
    ...(as === "retried" ? { next_attempt_at: record.due_at } : {}),
  });
}

/** A task changed its status without an attempt's doing: `outcome` says how. */
export function reportChanged({ log, metrics }: ReportPorts, record: TaskRecord, outcome: ChangeOutcome): void {
  if (outcome === "failed" || outcome === "cancelled") metrics.add(outcome, 1, countedAs(record));
  log.info(`task ${outcome}`, { ...taskFields(record), outcome, status: record.status });
}

type ChangeOutcome = "failed" | "cancelled" | "expired" | "replayed" | "discarded";

/** A message asked for nothing: its task had ended, or was being worked on. */
export function reportDuplicate({ log, metrics }: ReportPorts, record: TaskRecord, why: string): void {
  metrics.add("duplicates", 1, countedAs(record));
  log.info(why, { outcome: "skipped_duplicate", status: record.status });
}
