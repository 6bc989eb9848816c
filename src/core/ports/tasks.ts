import type { Change, Changed } from "../model/change.ts";
import type { DeadLetterMessage, Envelope, LineCheck, Ticket } from "../model/envelope.ts";
import type { ApiKey } from "../model/keys.ts";
import type { MetricName, MetricOf } from "../model/metrics.ts";
import type { TaskKey, TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/words.ts";
import type { TryNotice } from "./notify.ts";

/** Time, passed in so that tests and simulations own it. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back once after `delayMs` milliseconds, unless the returned function is called first. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Returns a number from 0 to 1, without 1 itself. */
export type Random = () => number;

/** Returns a new UUID; later ones sort after earlier ones. */
export type NewId = () => string;

/** One page of a list, newest first. A page may be short; only an absent `next` ends the list. */
export interface Page<T> {
  items: T[];
  next: string | undefined;
}

/** Selects the tasks of one page of a list. */
export interface ListQuery {
  tenantId: string;
  /** Lists only the tasks that this principal submitted, by an index of their own. Default: all tasks of the tenant. */
  requestedBy?: string | undefined;
  /**
   * Lists only tasks with this term (`searchTerms`), without regard to `requestedBy`, `type` and `priority`. Default:
   * all tasks.
   */
  term?: string | undefined;
  /** ISO times; `after` is included, `before` is not. Default: unbounded. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  /** Default: any. */
  type?: string | undefined;
  priority?: Tier | undefined;
  limit: number;
  /** `next` of the page before. Default: from the newest. */
  from?: string | undefined;
}

/** The tenant's dead letters in an interval of `dead_letter_at`; `after` is included, `before` is not. */
export interface DeadLetterQuery {
  tenantId: string;
  failedAfter?: string | undefined;
  failedBefore?: string | undefined;
  limit: number;
  from?: string | undefined;
}

/**
 * Parts stored beside a record, under its key. A task without retries, delays or large results never reads or writes
 * one.
 */
export type Part =
  /** The envelope of a task that has no message in its tier: one in a long wait, or a dead letter. */
  | "envelope"
  /** The envelope with an input that replaced the one of a waiting or failed task, by its message id. */
  | `input#${string}`
  /** A result that does not fit in the record, by the attempt's number over all rounds. */
  | `result#${number}`
  /** The attempts of an earlier round, by its number. */
  | `round#${number}`
  /** The stack of an attempt that failed before another one, by its round and number. */
  | `stack#${number}#${number}`
  /** The state of an operation; beside the record of the operation's task. */
  | "operation"
  /** The rate to which an operator changed a running operation. */
  | "operation_rate"
  /** The dead letters that an operation matched, in numbered chunks. */
  | `operation#${number}`
  /**
   * The notes of a process that ended about the attempt that ended with it, by the attempt's number over all rounds.
   */
  | `crash#${number}`
  /** The message of a failed task; beside the record of the task that runs its `onFailed`. */
  | "failed"
  /** Until when a class of errors of a type is known; not beside a record. */
  | `failure#${string}`
  /** Messages that sweeps of one DLQ deleted recently; not beside a record. */
  | "swept"
  /** The last look for open tasks that nothing wakes; not beside a record. */
  | "rescue"
  /** The time since which a tier refuses submits. */
  | `refusal#${Tier}`;

/**
 * The table. All methods throw `PortUnavailable` when the table cannot answer now. Contract suite:
 * `test/contract/records.ts`.
 */
export interface Records {
  /**
   * Writes a new record. If a record with its key exists and is not yet purged, nothing is written and the existing
   * record is returned. So it is when the existing record was created at the same time: a late repeat of the call does
   * not bring a withdrawn record back.
   */
  create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined>;
  /**
   * Returns the record, or undefined.
   * @param how Default: reads eventually consistent; consistently only if that finds nothing.
   */
  get(key: TaskKey, how?: "consistently"): Promise<TaskRecord | undefined>;
  /**
   * Returns records in the order of their keys; undefined where there is none. Reads consistently.
   * @param keys At most 100.
   */
  getMany(keys: readonly TaskKey[]): Promise<(TaskRecord | undefined)[]>;
  /** Makes one conditional update of one record. */
  change(key: TaskKey, change: Change): Promise<Changed>;
  list(query: ListQuery): Promise<Page<TaskRecord>>;
  listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>>;
  /**
   * Stores a JSON value or bytes beside a record, at most 300 KiB; replaces an earlier value. It never shortens the
   * time for which the part is stored: a call that comes late knows less of the task than the one before it.
   * @param purgeAt Epoch seconds until which the part is stored at least.
   */
  savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): Promise<void>;
  loadPart(key: TaskKey, part: Part): Promise<unknown>;
  /**
   * Stores a part for longer, if there is one, whatever its value is by now. It never shortens its time.
   * @param purgeAt Epoch seconds until which the part is stored at least.
   */
  keepPart(key: TaskKey, part: Part, purgeAt: number): Promise<void>;
}

/** One of a tier's two queues. */
export interface MainQueue {
  tier: Tier;
  /** `container`: the tier's queue for container workers. Default: that for worker functions. */
  runsOn?: "container" | undefined;
}

/** A message to send to a tier. */
export interface Outgoing extends MainQueue {
  envelope: Envelope;
  /** Whole seconds, 0 to 900. */
  delaySeconds: number;
  /** True when the task must run alone because its last attempt crashed. */
  solo: boolean;
  /** Number of times that redrive put this message back, 0 to 3. */
  redrives: number;
  /** The ticket of the line from which the task comes. Absent: it comes from none. */
  ticket?: Ticket;
}

/** A message as received from a queue. */
export interface Delivery extends MainQueue {
  messageId: string;
  receiptHandle: string;
  body: string;
  /** Number of times that SQS delivered this message, this time included. */
  receiveCount: number;
  solo: boolean;
  redrives: number;
  ticket?: Ticket;
  /** The message group. Absent: the message has none. */
  tenantId?: string;
  /** Epoch milliseconds at which the message was sent. */
  sentAt: number;
}

/** The tier queues and their DLQs. All methods throw `PortUnavailable`. Contract suite: `test/contract/queues.ts`. */
export interface Queues {
  send(message: Outgoing): Promise<void>;
  /** Sends a check of a line to the tier's queue for worker functions, or to that for containers. */
  sendCheck(message: MainQueue & { check: LineCheck; delaySeconds: number }): Promise<void>;
  /**
   * Hides up to 10 received messages of one queue for the given seconds (0 to 43200) from now. Best effort for each
   * message.
   * @param runsOn Whose queue of the tier. Default: that of worker functions.
   */
  hold(
    tier: Tier,
    messages: readonly { receiptHandle: string; seconds: number }[],
    runsOn?: "container" | undefined,
  ): Promise<void>;
  /** Sends a dead letter to the tier's DLQ. */
  deadLetter(tier: Tier, deadLetter: DeadLetterMessage, tenantId: string | undefined): Promise<void>;
}

/** Number of messages in a queue. SQS's figures are approximate and late. */
export interface QueueDepth {
  /** Ready to be received. */
  visible: number;
  /** Received, and not yet deleted or visible again. */
  inFlight: number;
  /** Sent with a delay that has not ended. */
  delayed: number;
}

/** Depths of the queues, for operators and depth limits. */
export interface QueueDepths {
  /** Of the tier's queues together: that for worker functions and that for container workers. */
  ofTier(tier: Tier): Promise<QueueDepth>;
  ofDlq(tier: Tier): Promise<QueueDepth>;
}

/** Numbers of tasks that wait for another attempt after a failed one. */
export interface RetryCounts {
  /** Of all tenants, by tier. Of more than some thousands, at least so many. @throws PortUnavailable */
  ofTiers(): Promise<Record<Tier, number>>;
}

/** Ages of the tiers' oldest messages. */
export interface QueueAges {
  /**
   * Age of each tier's oldest message in seconds. A tier without a recent figure is left out. @throws PortUnavailable
   */
  ofTiers(): Promise<Partial<Record<Tier, number>>>;
}

/** One-off schedules, for waits longer than an SQS delay. Contract suite: `test/contract/one-offs.ts`. */
export interface OneOffs {
  /** Creates the schedule. An existing schedule of that name stays unchanged. */
  create(oneOff: { name: string; at: string; payload: FirePayload }): Promise<void>;
  /** Deletes the schedule. Does nothing when it does not exist. */
  delete(name: string): Promise<void>;
}

/** Payload of a one-off schedule for fire: the end of a task's wait, or a try of a webhook that is due. */
export type FirePayload = TaskFiring | { kind: "webhook"; notice: TryNotice };

/** The end of a task's wait. */
export type TaskFiring = { kind: "task" } & TaskKey;

/**
 * State of a once-only side effect. `mine`: the caller holds the key now. `done`: its outcome, with the owner that
 * stored it and the time in epoch seconds at which it is purged. `fault`: the effect was done, and its outcome could
 * not be stored.
 */
export type OnceState = { state: "mine" } | OnceDone | { state: "busy" };

export interface OnceDone {
  state: "done";
  value: unknown;
  fault?: string;
  owner: string;
  purgeAt: number;
}

/** Outcomes of once-only side effects, by tenant and key. Contract suite: `test/contract/once-store.ts`. */
export interface OnceStore {
  /** Reserves the key for `owner` until `untilIso`, unless its outcome is stored or another owner holds it. */
  begin(once: {
    tenantId: string;
    key: string;
    owner: string;
    nowIso: string;
    untilIso: string;
    purgeAt: number;
  }): Promise<OnceState>;
  /**
   * Stores the outcome, a JSON value, or the fault of an outcome that cannot be stored. Returns false when `owner` no
   * longer holds the key.
   */
  finish(once: {
    tenantId: string;
    key: string;
    owner: string;
    value: unknown;
    fault?: string;
    purgeAt: number;
  }): Promise<boolean>;
  /** Releases the key after a failed effect. */
  release(once: { tenantId: string; key: string; owner: string }): Promise<void>;
}

/** A durable counter for the probe types. */
export interface Counters {
  /** Adds 1, once for each idempotency key. Returns the value. */
  add(tenantId: string, name: string, idempotencyKey: string): Promise<number>;
}

/** Structured logging. `with` returns a log that adds fields to every line. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  with(fields: Record<string, unknown>): Log;
}

/** An attempt of this process. */
export type RunningAttempt = Pick<TaskRecord, "tenant_id" | "task_id" | "attempts_total">;

/** Kills this process when its event loop is blocked for too long. */
export interface Watchdog {
  /**
   * Kills the process at `untilMs` (epoch milliseconds) unless the returned function was called before. It may take
   * `lookSeconds` to find out what the process was doing.
   * @param attempt The guarded attempt: its record says what was found out.
   */
  guard(untilMs: number, attempt: RunningAttempt): () => void;
}

/** Looks up API keys. Contract suite: `test/contract/api-keys.ts`. */
export interface ApiKeys {
  /** Reads the key consistently: a revoked key must stop working immediately. */
  find(keyId: string): Promise<ApiKey | undefined>;
  /** Stores the time of a use, unless a later time than `unlessAfter` is stored. */
  touch(keyId: string, usedAt: string, unlessAfter: string): Promise<void>;
}

/** Manages API keys, for operators. */
export interface KeyStore extends ApiKeys {
  add(key: ApiKey): Promise<void>;
  /** Every tenant that was ever given a key. */
  tenants(): Promise<string[]>;
  /** All keys of a tenant, revoked and expired ones included, oldest first. */
  list(tenantId: string): Promise<ApiKey[]>;
  /** Revokes a key. Returns it with the time of its first revocation; undefined when it does not exist. */
  revoke(keyId: string, revokedAt: string): Promise<ApiKey | undefined>;
}

/** Collects measurements until they are written, once for each invocation. */
export interface Metrics {
  add(name: MetricName, value: number, of: MetricOf): void;
}

/** The start of a span. */
export interface SpanStart {
  /** Kind of work, for people; never an id. */
  name: string;
  /**
   * `server`: a request. `producer`: a submit within the caller's process. `consumer`: work that was submitted earlier.
   */
  kind: "server" | "producer" | "consumer";
  /**
   * W3C trace context of the parent. Undefined: a consumer's span starts a trace, any other continues the active span.
   */
  traceparent: string | undefined;
  /** Never contains inputs or results. */
  attributes?: Record<string, string | number>;
}

/** A running span. */
export interface Span {
  /** W3C trace context for requests made by this work. Undefined: there is no trace. */
  readonly traceparent: string | undefined;
  set(attributes: Record<string, string | number>): void;
  /** Marks the span as failed, with a reason in one word. */
  fail(reason: string): void;
}

/** Records spans. */
export interface Tracing {
  /** Runs work as a span, which ends with the work. */
  span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}

/** Tasks of all tenants that have not ended, or have `rescued_at`, from a read of the whole table. */
export interface OpenTasks {
  /**
   * Reads a part of the table, of bounded size, eventually consistent. Returns its open tasks and those with
   * `rescued_at`.
   * @param from `next` of the part before. Undefined: the beginning.
   * @returns `next` is undefined at the end.
   * @throws PortUnavailable
   */
  part(from: string | undefined): Promise<{ items: TaskRecord[]; next: string | undefined }>;
}

/** Records no spans, and passes on the given trace context. */
export const noTracing: Tracing = {
  span: ({ traceparent }, work) => work({ traceparent, set: () => {}, fail: () => {} }),
};

/** The trace's id: 32 hex digits. Undefined without a trace. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split("-")[1];

/** True for a valid W3C trace context. */
export const isTraceparent = (value: string): boolean =>
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(value);
