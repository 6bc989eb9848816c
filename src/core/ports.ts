import type { Change, Changed } from "./change.ts";
import type { DeadLetterMessage, Envelope } from "./envelope.ts";
import type { ApiKey } from "./keys.ts";
import type { MetricName, MetricOf } from "./metrics.ts";
import type { TaskKey, TaskRecord } from "./record.ts";
import type { Tier } from "./tier.ts";

/** Time, passed in so that tests and simulations own it. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls back once after so many milliseconds, unless the returned function is called first. */
  after(delayMs: number, callback: () => void): () => void;
}

/** A number from 0 up to, not including, 1. */
export type Random = () => number;

/** A new unique id (a UUID whose order follows the time). */
export type NewId = () => string;

/** One page of a list, newest first. A page may be short; only an absent `next` ends the list. */
export interface Page<T> {
  items: T[];
  next: string | undefined;
}

/** Whose tasks to list, and from where. */
export interface ListQuery {
  tenantId: string;
  /** Only the tasks this principal submitted; looked up by their own key, not filtered. Default: all of the tenant. */
  requestedBy?: string | undefined;
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

/** What can be kept beside a record, under its key: never read or written on a task's straight way. */
export type Part =
  /** The envelope of a task whose message left SQS's hands: a long wait or a dead letter. */
  | "envelope"
  /** A result that does not fit into the record, by the attempt's overall number. */
  | `result#${number}`
  /** The attempts of an earlier round, by its number. */
  | `round#${number}`
  /** What an operation is to do, and how far it is; beside the record of the operation's task. */
  | "operation"
  /** The dead letters that an operation matched, in chunks, by the chunk's number. */
  | `operation#${number}`
  /** What sweeps of one DLQ deleted of late; beside no record. */
  | "swept";

/**
 * The table. All methods throw `PortUnavailable` when the table cannot answer now. Contract suite:
 * `test/contract/records.ts`.
 */
export interface Records {
  /** Writes a new record unless one with its key is there and not yet purged; then gives that one. */
  create(record: TaskRecord, nowIso: string): Promise<TaskRecord | undefined>;
  /** The record, or undefined. Reads eventually consistent first and, only if that finds nothing, consistently. */
  get(key: TaskKey): Promise<TaskRecord | undefined>;
  /** Does one conditional step on one record. */
  change(key: TaskKey, change: Change): Promise<Changed>;
  list(query: ListQuery): Promise<Page<TaskRecord>>;
  listDeadLetters(query: DeadLetterQuery): Promise<Page<TaskRecord>>;
  /** Keeps a JSON value or bytes beside a record, at most 300 KiB; replaces what was there. */
  savePart(key: TaskKey, part: Part, value: unknown, purgeAt: number): Promise<void>;
  loadPart(key: TaskKey, part: Part): Promise<unknown>;
}

/** A message on its way into a tier. */
export interface Outgoing {
  tier: Tier;
  envelope: Envelope;
  /** Whole seconds, 0 to 900. */
  delaySeconds: number;
  /** Whether the task must run alone, as its last attempt took its worker down. */
  solo: boolean;
  /** How often redrive already put this message back, 0 to 3. */
  redrives: number;
}

/** A message received from a queue that may have been moved, hidden or received before. */
export interface Delivery {
  tier: Tier;
  messageId: string;
  receiptHandle: string;
  body: string;
  /** How often SQS handed this message out, this time included. */
  receiveCount: number;
  solo: boolean;
  redrives: number;
  /** The message group. Absent: none was given. */
  tenantId?: string;
  /** Epoch milliseconds at which the message was sent. */
  sentAt: number;
}

/** The tier queues and their DLQs. All methods throw `PortUnavailable`. Contract suite: `test/contract/queues.ts`. */
export interface Queues {
  send(message: Outgoing): Promise<void>;
  /** Hides received messages of one tier for so many more seconds (0 to 43200) from now; at most 10. Best effort for each. */
  hold(tier: Tier, messages: readonly { receiptHandle: string; seconds: number }[]): Promise<void>;
  /** Sends a dead letter to the tier's DLQ. */
  bury(tier: Tier, letter: DeadLetterMessage, tenantId: string | undefined): Promise<void>;
}

/** How many messages a queue holds, as SQS says: about, and a moment late. */
export interface QueueDepth {
  /** Ready to be handed out. */
  visible: number;
  /** Handed out, and not yet deleted or given back. */
  inFlight: number;
  /** Sent with a delay that has not ended. */
  delayed: number;
}

/** How full the queues are: for operators. */
export interface QueueDepths {
  ofTier(tier: Tier): Promise<QueueDepth>;
  ofDlq(tier: Tier): Promise<QueueDepth>;
}

/** How long the tiers' messages wait. */
export interface QueueAges {
  /** Age of each tier's oldest message in seconds; without a tier of which nothing is known of late. @throws PortUnavailable */
  ofTiers(): Promise<Partial<Record<Tier, number>>>;
}

/** One-off schedules for waits that a queue cannot hold. Contract suite: `test/contract/one-offs.ts`. */
export interface OneOffs {
  /** Creates the schedule; a schedule of that name that is there already is left as it is. */
  create(oneOff: { name: string; at: string; payload: FirePayload }): Promise<void>;
  /** Deletes the schedule; one that is not there is fine. */
  delete(name: string): Promise<void>;
}

/** What a one-off schedule hands to fire. */
export interface FirePayload extends TaskKey {
  kind: "task";
}

/** What is known of a side effect that must happen once. */
export type OnceState = { state: "mine" } | { state: "done"; value: unknown } | { state: "busy" };

/** Outcomes of once-only side effects, by tenant and key. Contract suite: `test/contract/once-store.ts`. */
export interface OnceStore {
  /** Takes the key for `owner` until `untilIso`, unless its outcome is stored or somebody else holds it. */
  begin(once: {
    tenantId: string;
    key: string;
    owner: string;
    nowIso: string;
    untilIso: string;
    purgeAt: number;
  }): Promise<OnceState>;
  /** Stores the outcome; false when `owner` does not hold the key any more. */
  finish(once: { tenantId: string; key: string; owner: string; value: unknown; purgeAt: number }): Promise<boolean>;
  /** Gives the key up after a failed effect. */
  release(once: { tenantId: string; key: string; owner: string }): Promise<void>;
}

/** A durable counter for the probe types. */
export interface Counters {
  /** Adds 1, unless it already has for this idempotency key, and gives the value. */
  add(tenantId: string, name: string, idempotencyKey: string): Promise<number>;
}

/** Structured logging. `with` gives a log whose every line carries more fields. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  with(fields: Record<string, unknown>): Log;
}

/** Ends this process if it does not call back in time: what a blocked event loop cannot do for itself. */
export interface Watchdog {
  /** Arms the watchdog until the returned function is called; past `untilMs` (epoch) the process is killed. */
  guard(untilMs: number): () => void;
}

/** Where API keys are looked up. Contract suite: `test/contract/api-keys.ts`. */
export interface ApiKeys {
  /** The key as it is now, not as it was some seconds ago: a revoked one must stop at once. */
  find(keyId: string): Promise<ApiKey | undefined>;
  /** Notes a use, unless one after `unlessAfter` is noted already. */
  touch(keyId: string, usedAt: string, unlessAfter: string): Promise<void>;
}

/** Where operators keep API keys. */
export interface KeyStore extends ApiKeys {
  add(key: ApiKey): Promise<void>;
  /** Every tenant that ever got a key. */
  tenants(): Promise<string[]>;
  /** All keys of a tenant, revoked and expired ones included, oldest first. */
  list(tenantId: string): Promise<ApiKey[]>;
  /** The revoked key, with the time of its first revocation; undefined when there is none. */
  revoke(keyId: string, revokedAt: string): Promise<ApiKey | undefined>;
}

/** Collects measurements until they are written, once for each invocation. */
export interface Metrics {
  add(name: MetricName, value: number, of: MetricOf): void;
}

/** What is known of a piece of work when it begins. */
export interface SpanStart {
  /** For people: what kind of work, never an id. */
  name: string;
  /** `server`: a request that came in. `consumer`: work that was asked for earlier. */
  kind: "server" | "consumer";
  /** The W3C trace context that it goes on from. Absent: it begins a trace. */
  traceparent: string | undefined;
  /** Never payload. */
  attributes?: Record<string, string | number>;
}

/** A piece of work while it lasts. */
export interface Span {
  /** The W3C trace context for what this work asks of others. Undefined: there is no trace. */
  readonly traceparent: string | undefined;
  set(attributes: Record<string, string | number>): void;
  /** Marks the work as failed, for a reason in one word. */
  fail(reason: string): void;
}

/** Makes the pieces of work of one trace visible as such, wherever they happen. */
export interface Tracing {
  /** Runs a piece of work as a span, which ends when the work does. */
  span<T>(start: SpanStart, work: (span: Span) => Promise<T>): Promise<T>;
}
