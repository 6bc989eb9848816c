import { type Ended, fence } from "./attempt.ts";
import type { Change, Changed } from "./change.ts";
import { type Classified, classify } from "./classify.ts";
import { type DispatchPorts, dispatch } from "./dispatch.ts";
import type { DeadLetterMessage, Envelope } from "./envelope.ts";
import { AttemptCrashed, PermanentError } from "./errors.ts";
import type { Random } from "./ports.ts";
import {
  type Attempt,
  type AttemptOutcome,
  iso,
  longestQueueLifeSeconds,
  type ResultReference,
  type TaskRecord,
} from "./record.ts";
import { FileResult, largestResultBytes, OutcomeResult, recordResultBytes } from "./result.ts";
import { decideRetry } from "./retry.ts";
import type { TaskType } from "./task.ts";

export interface SettlePorts extends DispatchPorts {
  random: Random;
  /** Multiplies retry waits; 1 but for trying things out. */
  timeScale: number;
}

/** An attempt to settle: its record as claimed, its message, and its type; no type when the registry does not have it. */
export interface Settling {
  record: TaskRecord;
  envelope: Envelope;
  type: TaskType | undefined;
}

/**
 * What settling did, and the record as it is then. `stale`: the record had moved on, so the attempt's end counts for nothing;
 * it may also be that an answer was lost and the record moved on by this very attempt, so the caller looks at it again.
 */
export interface Settled {
  as: "completed" | "retried" | "failed" | "cancelled" | "stale";
  record: TaskRecord | undefined;
}

/**
 * Settles an attempt: one conditional update, fenced by the attempt's number, then what follows from it.
 * Repeatable up to the update; afterwards `followUp` repeats the rest.
 * @throws PortUnavailable
 */
export async function settle(ports: SettlePorts, settling: Settling, ended: Ended): Promise<Settled> {
  const fenced = fence(settling.record);
  const now = ports.clock.now();
  if (ended.how === "cancelled") return settleCancelled(ports, settling.record, fenced);
  if (ended.how === "timed_out") return settleFailed(ports, settling, classify(ended.error, [], now), fenced);
  if (ended.how === "threw") {
    const failure = classify(ended.error, settling.type?.classify ?? [], now);
    return settleFailed(ports, settling, failure, fenced);
  }
  const packed = packResult(settling, ended.value);
  if (!packed.ok) return settleFailed(ports, settling, classify(packed.error, [], now), fenced);
  return settleCompleted(ports, settling.record, packed);
}

/**
 * Settles an attempt whose worker died: the lease ended and nobody wrote. Done by another worker than the attempt's, so only
 * if the lease was not renewed meanwhile.
 */
export function settleCrashed(ports: SettlePorts, settling: Settling): Promise<Settled> {
  const { record } = settling;
  const crash = new AttemptCrashed(`the worker died, or lost its lease, during attempt ${record.attempts}`);
  const lease = record.lease_until === undefined ? { absent: true as const } : { is: record.lease_until };
  return settleFailed(ports, settling, classify(crash, [], ports.clock.now()), {
    ...fence(record),
    lease_until: lease,
  });
}

/**
 * Makes the change that ends an attempt. Refused because the task was extended meanwhile, it is made again with the longer
 * retention; refused because of a wish to cancel, it becomes that; refused otherwise, the record has moved on.
 */
async function endAs(
  ports: SettlePorts,
  as: Exclude<Settled["as"], "stale">,
  record: TaskRecord,
  fenced: Change["when"],
  end: (record: TaskRecord) => Promise<Changed>,
): Promise<Settled> {
  const changed = await end(record);
  if (changed.done) return { as, record: changed.record };
  const current = changed.record;
  const mine = current?.status === "processing" && current.attempts_total === record.attempts_total;
  if (!mine) return { as: "stale", record: current };
  if (current.retention_seconds > record.retention_seconds) {
    return endAs(ports, as, { ...record, retention_seconds: current.retention_seconds }, fenced, end);
  }
  if (as === "cancelled" || current.cancel_requested_at === undefined) return { as: "stale", record: current };
  return settleCancelled(ports, record, fenced);
}

/** A retention that was computed from this record is written only while it is the record's. */
export const keptAs = (record: TaskRecord) => ({ retention_seconds: { is: record.retention_seconds } }) as const;

const settleCompleted = (ports: SettlePorts, claimed: TaskRecord, packed: Packed): Promise<Settled> =>
  endAs(ports, "completed", claimed, fence(claimed), async (record) => {
    const now = iso(ports.clock.now());
    const kept = retention(ports, record);
    if (packed.part !== undefined && packed.reference !== undefined) {
      await ports.records.savePart(record, `result#${packed.reference.part}`, packed.part, kept.purge_at);
    }
    return ports.records.change(record, {
      when: { ...fence(record), ...keptAs(record), cancel_requested_at: { absent: true } },
      set: {
        status: "completed",
        updated_at: now,
        finished_at: now,
        ...kept,
        outcome: packed.outcome,
        result: packed.inline,
        result_ref: packed.reference,
      },
      remove: ["lease_until", "error", "error_type", "error_kind", "needs_review"],
      append: attemptOf(record, now, "completed"),
    });
  });

const settleCancelled = (ports: SettlePorts, claimed: TaskRecord, fenced: Change["when"]): Promise<Settled> =>
  endAs(ports, "cancelled", claimed, fenced, (record) => {
    const now = iso(ports.clock.now());
    return ports.records.change(record, {
      when: { ...fenced, ...keptAs(record) },
      set: { status: "cancelled", updated_at: now, finished_at: now, ...retention(ports, record) },
      remove: ["lease_until", "cancel_requested_at"],
      append: attemptOf(record, now, "cancelled"),
    });
  });

async function settleFailed(
  ports: SettlePorts,
  settling: Settling,
  failure: Classified,
  fenced: Change["when"],
): Promise<Settled> {
  const { record, type } = settling;
  const decision = decideRetry(
    type?.retry ?? {},
    {
      kind: failure.kind,
      attempt: record.attempts,
      maxAttempts: record.max_attempts,
      earlierOfKind: record.history.filter((attempt) => attempt.error_kind === failure.kind).length,
      retryAfterSeconds: failure.retryAfterSeconds,
    },
    ports.random,
    ports.timeScale,
  );
  if (!decision.retry) return settleDead(ports, settling, failure, fenced);
  return settleRetried(ports, settling, failure, fenced, decision.waitSeconds);
}

async function settleRetried(
  ports: SettlePorts,
  { record: claimed, envelope }: Settling,
  failure: Classified,
  fenced: Change["when"],
  waitSeconds: number,
): Promise<Settled> {
  const now = ports.clock.now();
  const dueAt = now + waitSeconds * 1000;
  const settled = await endAs(ports, "retried", claimed, fenced, (record) =>
    ports.records.change(record, {
      when: { ...fenced, ...keptAs(record), cancel_requested_at: { absent: true } },
      set: {
        status: "pending",
        updated_at: iso(now),
        due_at: iso(dueAt),
        purge_at: purgeAtOfWaiting(record, dueAt),
        ...errorFields(failure),
      },
      remove: ["lease_until", "progress"],
      append: { ...attemptOf(record, iso(now), failedAs(failure, "retried"), failure), next_attempt_at: iso(dueAt) },
    }),
  );
  if (settled.as === "retried" && settled.record !== undefined) await dispatchAgain(ports, settled.record, envelope);
  return settled;
}

/** A wait never outlives its record: it stays for as long after the due time as a new task's would. */
const purgeAtOfWaiting = (record: TaskRecord, dueAt: number): number =>
  Math.max(record.purge_at, Math.ceil(dueAt / 1000) + longestQueueLifeSeconds + record.retention_seconds);

/** A crash and a time-out keep their own word, whether or not another attempt follows. */
const failedAs = (failure: Classified, otherwise: "retried" | "failed"): AttemptOutcome =>
  failure.kind === "crashed" || failure.kind === "timed_out" ? failure.kind : otherwise;

/** Puts a pending task's message back into its tier for its due time. */
export const dispatchAgain = (
  ports: DispatchPorts,
  record: TaskRecord,
  envelope: Envelope,
  redrives = 0,
): Promise<void> =>
  dispatch(ports, {
    envelope,
    tier: record.priority,
    dueAt: Date.parse(record.due_at),
    attemptsTotal: record.attempts_total,
    purgeAt: record.purge_at,
    solo: record.error_kind === "crashed",
    redrives,
  });

async function settleDead(
  ports: SettlePorts,
  { record: claimed, envelope }: Settling,
  failure: Classified,
  fenced: Change["when"],
): Promise<Settled> {
  const settled = await endAs(ports, "failed", claimed, fenced, (record) =>
    failForGood(ports, record, envelope, failure, {
      when: { ...fenced, cancel_requested_at: { absent: true } },
      append: attemptOf(record, iso(ports.clock.now()), failedAs(failure, "failed"), failure),
    }),
  );
  if (settled.as === "failed" && settled.record !== undefined) await followUp(ports, settled.record, envelope);
  return settled;
}

/**
 * Makes a task a dead letter: its envelope is kept first, so that a replay finds it, then one conditional update.
 * The DLQ's message is left to `followUp`.
 */
export async function failForGood(
  ports: DispatchPorts,
  record: TaskRecord,
  envelope: Envelope,
  failure: Classified,
  change: Pick<Change, "when" | "append">,
): Promise<Changed> {
  const now = iso(ports.clock.now());
  const kept = retention(ports, record);
  await ports.records.savePart(record, "envelope", envelope, kept.purge_at);
  return ports.records.change(record, {
    ...change,
    when: { ...change.when, ...keptAs(record) },
    set: {
      status: "failed",
      updated_at: now,
      finished_at: now,
      dead_letter_at: now,
      first_failed_at: record.first_failed_at ?? now,
      ...kept,
      ...errorFields(failure),
      needs_review: failure.kind === "business_rule" ? true : undefined,
    },
    remove: ["lease_until", "buried_at", ...(failure.kind === "business_rule" ? [] : (["needs_review"] as const))],
  });
}

/** What follows from a terminal status, made again on every redelivery until it is done: a dead letter gets its DLQ message. */
export async function followUp(ports: DispatchPorts, record: TaskRecord, envelope: Envelope): Promise<void> {
  if (record.status !== "failed" || record.dead_letter_at === undefined || record.buried_at !== undefined) return;
  await ports.queues.bury(record.priority, deadLetterOf(record, envelope), record.tenant_id);
  ports.metrics.add("dead_lettered", 1, { tier: record.priority, type: record.type });
  await ports.records.change(record, {
    when: { status: { is: "failed" }, dead_letter_at: { is: record.dead_letter_at } },
    set: { buried_at: iso(ports.clock.now()) },
  });
}

export const deadLetterOf = (record: TaskRecord, envelope: Envelope): DeadLetterMessage => ({
  original_message: envelope,
  failure_reason: record.error ?? "unknown",
  failure_type: record.error_type ?? "Error",
  failure_kind: record.error_kind ?? "permanent",
  attempt_count: record.attempts,
  first_failed_at: record.first_failed_at ?? record.updated_at,
  last_failed_at: record.dead_letter_at ?? record.updated_at,
  original_queue: record.priority,
});

const errorFields = (failure: Classified) => ({
  error: failure.message,
  error_type: failure.type,
  error_kind: failure.kind,
});

/** From when on a task that ends now counts as gone. */
export function retention(ports: Pick<DispatchPorts, "clock">, record: TaskRecord) {
  const until = ports.clock.now() + record.retention_seconds * 1000;
  return { retained_until: iso(until), purge_at: Math.ceil(until / 1000) };
}

/** The history's entry for the attempt that the record shows as running. */
function attemptOf(record: TaskRecord, finishedAt: string, outcome: AttemptOutcome, failure?: Classified): Attempt {
  return {
    round: record.round,
    number: record.attempts,
    started_at: record.started_at ?? record.updated_at,
    finished_at: finishedAt,
    outcome,
    ...(failure === undefined
      ? {}
      : { error: failure.message.slice(0, 500), error_type: failure.type, error_kind: failure.kind }),
  };
}

interface Packed {
  ok: true;
  outcome: string | undefined;
  inline?: unknown;
  part?: unknown;
  reference?: ResultReference;
}

/** Decides where a result goes; one that cannot be kept, or does not fit the type's schema, fails the attempt. */
function packResult({ record, type }: Settling, value: unknown): Packed | { ok: false; error: Error } {
  const outcome = value instanceof OutcomeResult ? value.outcome : undefined;
  const result = value instanceof OutcomeResult ? value.result : value;
  const part = record.attempts_total;
  if (result instanceof FileResult) {
    const bytes = result.bytes.byteLength;
    if (bytes > largestResultBytes) return tooLarge(bytes);
    const reference = { part, bytes, content_type: result.contentType, file_name: result.fileName };
    return { ok: true, outcome, part: result.bytes, reference };
  }
  const misfit = misfitOf(type, result);
  if (misfit !== undefined) return { ok: false, error: misfit };
  const text = jsonText(result);
  if (text === undefined) return { ok: false, error: new PermanentError("the result cannot be written as JSON") };
  const bytes = Buffer.byteLength(text);
  if (bytes > largestResultBytes) return tooLarge(bytes);
  const json: unknown = JSON.parse(text);
  if (bytes <= recordResultBytes) return { ok: true, outcome, inline: json };
  return { ok: true, outcome, part: text, reference: { part, bytes, content_type: "application/json" } };
}

/** What is wrong with a result by its type's schema, also when code of the schema throws. */
function misfitOf(type: TaskType | undefined, result: unknown): PermanentError | undefined {
  try {
    const issue = type?.output?.safeParse(result).error?.issues[0];
    return issue && new PermanentError(`${["result", ...issue.path].join(".")}: ${issue.message}`);
  } catch (cause) {
    return new PermanentError("the result could not be checked: code of its schema threw", { cause });
  }
}

const tooLarge = (bytes: number) => ({
  ok: false as const,
  error: new PermanentError(`the result has ${bytes} bytes; at most ${largestResultBytes} (300 KiB) are kept`),
});

/** JSON text of a value; nothing at all becomes null. Undefined when there is no such text. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value ?? null);
  } catch {
    return undefined;
  }
}
