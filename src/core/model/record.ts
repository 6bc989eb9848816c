import { iso } from "../../util/iso.ts";
import type { ErrorKind } from "./errors.ts";
import type { Counts } from "./family-node.ts";
import type { StoredFile } from "./stored-file.ts";
import type { WaitingFor } from "./suspension.ts";
import { type AttemptOutcome, isTerminal, type Status, type Tier } from "./words.ts";

export { iso };

/** Webhook that a task's submitter asked for. */
export interface Callback {
  /** 1 to 2,048 characters: `https`, or an address that the deployment allows. */
  url: string;
  /** True: the webhook contains the result if it is JSON of at most 64 KiB. Default: it does not. */
  include_result?: boolean | undefined;
}

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
  /**
   * Places of the error and its causes, for operators. Only the newest stack of a round is in the record. Absent: there
   * is no error with a place, the type is sensitive, or `stack_of` is set.
   */
  stack?: string;
  /**
   * Number of the attempt in the same round that has this stack, in its entry or beside the record. May be the attempt
   * itself. Absent: the entry has its stack, or there is none.
   */
  stack_of?: number;
  /** Earliest start of the next attempt. Absent: none follows. */
  next_attempt_at?: string;
}

/** Identifies a task. The tenant is part of the key, so that no look-up can cross tenants. */
export interface TaskKey {
  tenant_id: string;
  task_id: string;
}

/** A result stored beside the record because it does not fit in it. */
export interface ResultReference {
  /**
   * Number of the stored part: the attempt's number over all rounds, so that a late attempt cannot overwrite a newer
   * result.
   */
  part: number;
  bytes: number;
  content_type: string;
  /** The file's name. Absent for JSON. */
  file_name?: string;
  /** Key of the object in the bucket. Absent: the result is a part in the table. */
  blob?: string;
}

/** The details of an attempt's progress. */
export interface ProgressNote {
  /** `attempts_total` of the attempt. */
  attempt: number;
  message?: string;
  /** JSON text. */
  data?: string;
}

/**
 * The record: the task's row, and the only truth about its status. Times are ISO 8601 UTC with milliseconds, which
 * compare as text. Each field's comment names its writers, when it changes, and the meaning of its absence.
 */
export interface TaskRecord extends TaskKey {
  /** submit; never changes. */
  type: string;
  /** submit; control changes it while the task waits. Only this tier's workers claim the task. */
  priority: Tier;
  /**
   * control, with each change of `priority`: the other tiers that the task was in. Logs of earlier attempts are in
   * theirs. Absent: it was in no other tier.
   */
  earlier_tiers?: readonly Tier[];
  /**
   * submit, from the type: `container` when its messages go to the queues of container workers; never changes. Absent:
   * to the tier's queue.
   */
  runs_on?: "container";
  /** submit: `pending`; worker, redrive and control change it along `transitions`. */
  status: Exclude<Status, "scheduled">;
  /** submit: the principal; never changes. */
  requested_by: string;
  /**
   * submit: true when the principal is a submitter: submitters list their tasks by an index of their own. Absent: an
   * operator or admin.
   */
  own_list?: true;
  /** submit; never changes. */
  correlation_id: string;
  /**
   * submit; never changes. True when the client gave the correlation id: then it is a term of searches. Absent: Offload
   * made it, or the task is a child.
   */
  correlation_given?: true;
  /** submit, from the request's `traceparent`; never changes. Absent: the request had none. */
  traceparent?: string;
  /** submit; never changes. Absent: no tags. */
  tags?: Record<string, string>;
  /** submit and control: the version of the input by its type; changes only with the input. Absent: 1. */
  input_version?: number;
  /**
   * submit and settle, while the task waits: JSON of a small input, or of the reference to a large one, as in the
   * envelope. The end of the wait removes it. In no list or log line. Absent: only the envelope has it.
   */
  kept_input?: string;
  /**
   * submit and settle: JSON of the input, or of the reference to a large one, where it costs nothing: record and input
   * fit the write units of the record alone. Stays until the record is deleted. In no list or log line. Absent: they do
   * not fit, or the type is sensitive.
   */
  shown_input?: string;
  /** submit: hash of the key by which it is unique; never changes. Absent: not unique. */
  unique_key?: string;
  /**
   * submit of a task that collects inputs: the most inputs of its list; never changes. Its first attempt makes the
   * input of the list, and names it in `input_part`. Absent: the task has an input of its own.
   */
  collects?: number;
  /** submit: time at which a repeated request sent the task's message again. Absent: none did. */
  sent_again_at?: string;
  /**
   * A reconciliation or a cancel ended the task, and what follows from its end may not be done, which no message may
   * repeat in time. Removed once it is done.
   */
  rescued_at?: string;
  /**
   * submit of a unique task: names the call that may withdraw it. A call that sends its message in place of that one
   * changes it, and the call that starts it in its turn.
   */
  sender?: string;
  /** submit: number of inputs that replaced the first one, before any attempt. Absent: 0. */
  replaced?: number;
  /**
   * submit, and control with a retry that gives an input: message id of the envelope with the newest input, a part of
   * the record. Absent: the task has its first input.
   */
  input_part?: string;
  /** submit: fingerprint of type, input and options: tells a repeat from a reused idempotency key; never changes. */
  request_hash: string;
  /** submit; never changes. */
  created_at: string;
  /** Every writer, with each change. */
  updated_at: string;
  /** submit: 1; control adds 1 with each retry or replay. */
  round: number;
  /** Attempts started in this round. submit: 0; claim adds 1; control sets 0 for a new round. */
  attempts: number;
  /** Attempts started over all rounds, the fence against late workers. submit: 0; claim adds 1; never goes down. */
  attempts_total: number;
  /** submit; never changes. */
  max_attempts: number;
  /**
   * Earliest start of the next attempt. submit: now or the requested time, which a debounced submit moves; settle: the
   * end of the retry's wait; control: now.
   */
  due_at: string;
  /**
   * submit: the requested time of a delayed task; a debounced submit moves it with `due_at`. Absent: none was
   * requested.
   */
  run_at?: string;
  /**
   * submit: counted from the time at which the task is first due, which a debounced submit moves. Absent: the task does
   * not expire.
   */
  expires_at?: string;
  /**
   * submit: equal to `expires_at`; the first claim removes it, as a started task does not expire. Absent: the task does
   * not expire.
   */
  start_by?: string;
  /** submit; `extend` may raise it. Retention after the task's end, in whole seconds. */
  retention_seconds: number;
  /**
   * claim and renewal: end of the running attempt's lease. Removed when the attempt settles. Absent: no attempt is
   * running.
   */
  lease_until?: string;
  /** claim: names the claim that has the lease. Removed when the attempt settles. Absent: no attempt is running. */
  lease_token?: string;
  /** The bucket of the permit of its attempt. Absent: the first one, or it needs no permit. */
  place_bucket?: number;
  /** claim: the line of strict order whose turn the task has until its end. Absent: no such order, or never started. */
  strict_line?: string;
  /** claim: start of the newest attempt. Absent: never started. */
  started_at?: string;
  /** settle, cancel, expiry: time at which the task became terminal. Absent: it is not terminal. */
  finished_at?: string;
  /** The handler, through `task.progress`; claim removes it. 0..100. Absent: none reported by this attempt. */
  progress?: number;
  /**
   * The handler, with `progress`; a later note takes its place. Counts while `progress` is there, and its attempt is
   * the newest one. Absent: no attempt reported one.
   */
  progress_note?: ProgressNote;
  /** settle: the finished attempts of this round, oldest first, at most 20. control moves them away for a new round. */
  history: Attempt[];
  /**
   * settle: the last failed attempt's error; removed when an attempt completes. Absent: no attempt failed, or one
   * completed since.
   */
  error?: string;
  error_type?: string;
  error_kind?: ErrorKind;
  /**
   * settle: the task's tier, when another attempt follows a failed one; a change of the tier changes it. A claim and
   * each end of the wait remove it. Absent: the task does not wait after a failure.
   */
  retrying_in?: Tier;
  /** settle: true after a violated business rule, which a person should review. Absent: no review needed. */
  needs_review?: true;
  /** settle: the outcome that the handler returned. Absent: it returned none. */
  outcome?: string;
  /** settle: a JSON result small enough for the record. Absent: there is no result, or `result_ref` names it. */
  result?: unknown;
  /** settle: a result stored beside the record. Absent: there is none. */
  result_ref?: ResultReference;
  /** settle: the resource that the handler named as the result, a path or URL. Absent: it named none. */
  location?: string;
  /** control: time at which the client acknowledged the result, which was deleted then. Absent: not acknowledged. */
  acknowledged_at?: string;
  /**
   * submit: the client's public key, a JWK. The result is stored only encrypted to it. Absent: the result is not
   * encrypted.
   */
  result_key?: Readonly<Record<string, string>>;
  /** submit: the task's files by their names in the type. Never changes. Absent: the task has no files. */
  files?: Readonly<Record<string, StoredFile>>;
  /** submit: the webhook that the client asked for; never changes. Absent: none. */
  callback?: Callback;
  /**
   * submit, from the type: true when channels get the result of the task; never changes. Absent: they get no result.
   */
  push_result?: true;
  /**
   * settle: what the suspended attempt waits for; flow: what keeps the task from starting. A claim and a signal remove
   * it. Absent: the task waits for nothing but a free worker.
   */
  waiting_for?: WaitingFor;
  /** flow: the line in which the task waits. A claim removes it. Absent: it waits in no line. */
  line?: string;
  /** signal, and the end of an awaited child: their number, repeated ones included. Never goes down. Absent: none. */
  signals?: number;
  /** The handler, through `task.checkpoint`: true when a state is stored. Absent: none. */
  checkpointed?: true;
  /** cancel: time of the request to cancel a running attempt. Absent: no request. */
  cancel_requested_at?: string;
  /**
   * cancel: true when an attempt that does not stop is ended with its process. Stays at the end, as the task's children
   * are cancelled in the same way. Absent: the handler has the time of its type.
   */
  cancel_now?: true;
  /**
   * submit, with the cancel: the task that takes its place. Its end lets that task start. Absent: no task waits for its
   * end.
   */
  superseded_by?: string;
  /** settle: end of the first failed round; written once. Absent: no round has failed. */
  first_failed_at?: string;
  /**
   * settle: time at which the task became a dead letter. Removed by replay and discard. Absent: the task is not a dead
   * letter.
   */
  dead_letter_at?: string;
  /**
   * settle or redrive: time at which the dead letter's message was sent to the DLQ. Removed with `dead_letter_at`.
   * Absent: not yet sent.
   */
  buried_at?: string;
  /** Every terminal writer, and `extend`: record and result stay until then. Absent: not terminal. */
  retained_until?: string;
  /**
   * Every terminal writer: from this second on the record counts as deleted; the table deletes it some time later.
   * Epoch seconds.
   */
  purge_at: number;
  /** fire and run: the schedule that submitted the task. Absent: not a schedule's task. */
  schedule_id?: string;
  /** fire: the scheduled time. Absent: not a schedule's task, or the schedule was run by hand. */
  scheduled_for?: string;
  /** submit: the task whose handler submitted this one. Absent: a client or schedule submitted it. */
  parent_id?: string;
  /** The start of an `onFailed`: the failed task. Absent: the task runs none. */
  caused_by?: string;
  /**
   * submit, from a type with `onFailed`; settle, where the type has it since: the most attempts of the task that runs
   * it. Absent: no task follows when this one fails.
   */
  on_failed_attempts?: number;
  /** spawn: the leaf of the parent's family that counts this child's end. Absent: no family counts it. */
  family_leaf?: string;
  /** spawn: the child's place in that leaf. */
  family_place?: number;
  /** spawn: the parent's round for which the child was spawned, or for which it started again. */
  family_round?: number;
  /** run: true for a child whose end the parent's handler awaits; never changes. Absent: it awaits none. */
  family_awaited?: true;
  /**
   * The task as a parent. spawn: `spawning`; settle: `waiting`, when the handler has spawned all children; the last
   * child's end: `closing`, when an attempt that aggregates the results follows. Stays after the end; a new round
   * removes it. Absent: no children.
   */
  family_state?: "spawning" | "waiting" | "closing";
  /** spawn and settle: number of spawned children. It lags while the handler spawns. */
  family_total?: number;
  /** settle: the root of the tree that counts the children's ends. */
  family_root?: string;
  /** settle: share of the children that must complete, 0 to 1. */
  family_threshold?: number;
  /**
   * settle: `armed`, when the family stops as soon as too many children have failed; the end of a child: `requested`,
   * when the cancel of the others is requested. A new round removes it. Absent: the family runs to its end.
   */
  family_stop?: "armed" | "requested";
  /** settle: true when the type aggregates the results. Absent: the counts are the result. */
  family_aggregates?: true;
  /**
   * settle: number of the children whose failure the handler has caught, which the threshold leaves out. A new round
   * removes it. Absent: none.
   */
  family_caught?: number;
  /**
   * The end of an awaited child, once for each attempt: `attempts_total` and the child's id. Absent: no awaited child
   * has ended.
   */
  woken_by?: string;
  /**
   * settle: true when `aggregate` has spawned children itself: its result is stored, and counts when they have ended. A
   * new round removes it. Absent: it has not.
   */
  family_aggregated?: true;
  /** The last child's end: numbers of the children, exact. */
  family_counts?: Counts;
  /** The last child's end: attempts of this round before those that aggregate, which have the type's attempts anew. */
  closing_from?: number;
  /**
   * submit: true when the task counts toward its tenant's limit of tasks in progress until it ends; a new round removes
   * it. Absent: not counted.
   */
  counted?: true;
}

/** The note of a record's progress. Undefined: there is none, or an earlier attempt made it. */
export const noteIn = ({ progress, progress_note: note, attempts_total }: TaskRecord): ProgressNote | undefined =>
  progress !== undefined && note?.attempt === attempts_total ? note : undefined;

/** A field that a change may name. */
export type Field = keyof TaskRecord;

/** The status at a given time: `scheduled` and `expired` follow from the time, without a write to the record. */
export function statusAt(record: TaskRecord, nowIso: string): Status {
  if (record.status !== "pending") return record.status;
  if (record.start_by !== undefined && record.start_by <= nowIso) return "expired";
  return record.attempts_total === 0 && record.run_at !== undefined && record.due_at > nowIso ? "scheduled" : "pending";
}

/** True when the task has ended at a given time. */
export const hasEnded = (record: TaskRecord, nowMs: number): boolean => isTerminal(statusAt(record, iso(nowMs)));

/**
 * The first millisecond after the year 9999. Times from it on, or before the year 0, have another form in ISO 8601,
 * which does not compare as text.
 */
export const endOfTimeMs = Date.UTC(10_000, 0, 1);

/** True before `purge_at`. After it the record counts as deleted, although the table deletes it later. */
export const isKept = (record: TaskRecord, nowMs: number): boolean => record.purge_at * 1000 > nowMs;

/** The longest retention of a message in SQS, in seconds. A record that has no message is kept no longer than this. */
export const longestQueueLifeSeconds = 14 * 86_400;

/**
 * Terms are kept for at least this time after their task was created, in seconds. A search finds older tasks, whose
 * retention was extended again and again, as those without terms.
 */
export const termSeconds = 365 * 86_400;

/**
 * Texts by which a search finds a task at once: the values of its tags, and its correlation id if the client has given
 * it. In lower case, each once. A task without them costs nothing more. They never change.
 */
export function searchTerms({ tags = {}, correlation_id, correlation_given }: TaskRecord): string[] {
  const terms = [...Object.values(tags), ...(correlation_given === true ? [correlation_id] : [])];
  return [...new Set(terms.filter((term) => term !== "").map((term) => term.toLowerCase()))];
}
