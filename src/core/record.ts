import type { ErrorKind } from "./errors.ts";
import type { Status } from "./status.ts";
import type { Tier } from "./tier.ts";

/** How one attempt ended. `failed`: no more attempts follow; a crash or time-out keeps its own word also when one follows. */
export type AttemptOutcome = "completed" | "failed" | "retried" | "crashed" | "timed_out" | "cancelled";

/** One attempt in a task's history. Times are ISO 8601 UTC with milliseconds. */
export interface Attempt {
  round: number;
  /** The attempt's number in its round, from 1. */
  number: number;
  started_at: string;
  finished_at: string;
  outcome: AttemptOutcome;
  error?: string;
  error_type?: string;
  error_kind?: ErrorKind;
  /** When the next attempt may start. Absent where none follows. */
  next_attempt_at?: string;
}

/** Which task: the tenant is part of the key, so that no look-up can cross tenants. */
export interface TaskKey {
  tenant_id: string;
  task_id: string;
}

/** Where a result is kept that does not fit into the record, and how it is served. */
export interface ResultReference {
  /** Names the stored part; the attempt's overall number, so that a late attempt cannot overwrite a newer one's. */
  part: number;
  bytes: number;
  content_type: string;
  /** The file's name. Absent for JSON. */
  file_name?: string;
}

/**
 * The record: the task's row, and the only truth about its status. Times are ISO 8601 UTC with milliseconds, which compare
 * as text. After each field: who writes it, when it changes, what its absence means.
 */
export interface TaskRecord extends TaskKey {
  /** submit; never changes. */
  type: string;
  /** submit; never changes. */
  priority: Tier;
  /** submit: `pending`; worker, redrive and control change it along `transitions`. */
  status: Exclude<Status, "scheduled">;
  /** submit: the principal; never changes. */
  requested_by: string;
  /** submit: true when the principal is a submitter, who lists tasks by a key of their own. Absent: an operator or admin. */
  own_list?: true;
  /** submit; never changes. */
  correlation_id: string;
  /** submit, from the request's `traceparent`; never changes. Absent: the request had none. */
  traceparent?: string;
  /** submit; never changes. Absent: no tags. */
  tags?: Record<string, string>;
  /** submit: the version of the input by its type; never changes. Absent: 1. */
  input_version?: number;
  /** submit: fingerprint of type, input and options, to tell a repeat from a reuse of an idempotency key; never changes. */
  request_hash: string;
  /** submit; never changes. */
  created_at: string;
  /** Every writer, with each change. */
  updated_at: string;
  /** submit: 1; control adds 1 with each retry or replay. */
  round: number;
  /** Attempts started in this round. submit: 0; claim adds 1; control sets 0 for a new round. */
  attempts: number;
  /** Attempts started over all rounds: the fence that a late worker fails at. submit: 0; claim adds 1; never goes down. */
  attempts_total: number;
  /** submit; never changes. */
  max_attempts: number;
  /** Before this no attempt starts. submit: now or the requested time; settle: the end of the retry's wait; control: now. */
  due_at: string;
  /** submit: the requested time of a delayed task; never changes. Absent: none was requested. */
  run_at?: string;
  /** submit; never changes. Absent: the task does not expire. */
  expires_at?: string;
  /** submit: the same time; the first claim removes it, as a task that has started does not expire. Absent: no bound. */
  start_by?: string;
  /** submit; `extend` may raise it. How long the task stays after its end, in whole seconds. */
  retention_seconds: number;
  /** claim and renewal: until when the running attempt may write. Removed when the attempt settles. Absent: none runs. */
  lease_until?: string;
  /** claim: start of the newest attempt. Absent: never started. */
  started_at?: string;
  /** settle, cancel, expiry: when the task became terminal. Absent: it is not. */
  finished_at?: string;
  /** The handler, through `task.progress`; claim removes it. 0..100. Absent: none reported by this attempt. */
  progress?: number;
  /** settle: the finished attempts of this round, oldest first, at most 20. control moves them away for a new round. */
  history: Attempt[];
  /** settle: the last failed attempt, until one completes. Absent: none failed, or completed since. */
  error?: string;
  error_type?: string;
  error_kind?: ErrorKind;
  /** settle: a person should look, as the failure was a rule of the business. Absent: no. */
  needs_review?: true;
  /** settle: the task's own word for how it ended. Absent: it gave none. */
  outcome?: string;
  /** settle: a JSON result small enough for the record. Absent: none, or see `result_ref`. */
  result?: unknown;
  /** settle: a result kept beside the record. Absent: none is. */
  result_ref?: ResultReference;
  /** cancel, while an attempt runs. Absent: nobody asked. */
  cancel_requested_at?: string;
  /** When the first round failed; settle, once. Absent: no round has failed. */
  first_failed_at?: string;
  /** settle, when the task fails for good: since when it is a dead letter. Removed by replay and discard. Absent: it is none. */
  dead_letter_at?: string;
  /** settle or redrive, after the dead letter's message was sent to the DLQ. Removed with `dead_letter_at`. Absent: not yet sent. */
  buried_at?: string;
  /** Terminal writers, and `extend`: until when record and result stay. Absent: not terminal. */
  retained_until?: string;
  /** From this second on the record counts as gone; the table deletes it some time later. Every terminal writer; epoch seconds. */
  purge_at: number;
  /** fire and run: which schedule submitted it. Absent: none did. */
  schedule_id?: string;
  /** fire: the time it was scheduled for. Absent: none did, or somebody ran the schedule by hand. */
  scheduled_for?: string;
  /** submit from a handler: the task that submitted this one. Absent: a client did. */
  parent_id?: string;
  /** submit: it counts among its tenant's tasks in progress until it ends; a new round removes it. Absent: it does not count. */
  counted?: true;
}

/** A field that a change may name. */
export type Field = keyof TaskRecord;

/** The status as of a moment: what the record says, seen in the light of the time. */
export function statusAt(record: TaskRecord, nowIso: string): Status {
  if (record.status !== "pending") return record.status;
  if (record.start_by !== undefined && record.start_by <= nowIso) return "expired";
  return record.attempts_total === 0 && record.run_at !== undefined && record.due_at > nowIso ? "scheduled" : "pending";
}

/** ISO 8601 UTC with milliseconds, of epoch milliseconds. */
export const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** Whether a record still counts: the table deletes some time after `purge_at`. */
export const isKept = (record: TaskRecord, nowMs: number): boolean => record.purge_at * 1000 > nowMs;

/** The longest retention of a message in SQS, in seconds: a record without a message left behind is kept no longer. */
export const longestQueueLifeSeconds = 14 * 86_400;
