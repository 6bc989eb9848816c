import { type Change, type Changed, fence } from "../../model/change.ts";
import {
  type Classified,
  type CrashNote,
  classify,
  crashFailure,
  errorFields,
  withPlainType,
} from "../../model/classify.ts";
import { type Attempt, iso, type TaskRecord } from "../../model/record.ts";
import type { Suspension } from "../../model/suspension.ts";
import type { AttemptOutcome } from "../../model/words.ts";
import type { EndPorts, SettlePorts } from "../../ports/extra.ts";
import type { Settled, Settling } from "../../task/limiter.ts";
import { decideRetry } from "../../task/retry.ts";
import { followUp } from "../end/follow-up.ts";
import { dispatch } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { outlivesNewEntries } from "../send/keep-entries.ts";
import { inputAtEnd, keepForWait, keptInput } from "../send/kept-input.ts";
import { historyBefore } from "../send/parts.ts";
import { deadLetterRetention, purgeAtOfWaiting, retention, sameRetention } from "../send/retention.ts";
import type { Cancelled, Ended } from "./attempt.ts";
import { attemptOf, endAs, endCancelled, sameSignals } from "./end-attempt.ts";
import { type Packed, resultFields, saveResult } from "./pack-result.ts";

/**
 * Settles an attempt: one conditional update, fenced by the attempt's number, then what follows from it.
 * Repeatable up to the update; afterwards `followUp` repeats the rest.
 * @throws PortUnavailable
 */
export async function settle(ports: SettlePorts, settling: Settling, ended: Ended): Promise<Settled> {
  const fenced = fence(settling.record);
  const now = ports.clock.now();
  if (ended.how === "cancelled") return settleCancelled(ports, settling, ended, fenced);
  if (ended.how === "spawned") return (await import("./settle-waiting.ts")).settleWaiting(ports, settling, ended);
  if (ended.how === "suspended") return settleSuspended(ports, settling, ended.suspension);
  if (ended.how === "timed_out") return settleFailed(ports, settling, classify(ended.error, [], now), fenced);
  if (ended.how === "threw") {
    // The author's rules are about the author's errors.
    const failure = classify(ended.error, ended.own === true ? [] : (settling.type?.classify ?? []), now);
    return settleFailed(ports, settling, settling.type?.sensitive ? withPlainType(failure) : failure, fenced);
  }
  return settleCompleted(ports, settling, ended.packed);
}

/**
 * Settles an attempt whose worker died: its lease ended without a write. Another worker does this, so the condition is
 * that the lease was not renewed.
 */
export async function settleCrashed(ports: SettlePorts, settling: Settling): Promise<Settled> {
  const { record, type } = settling;
  const note = (await ports.records.loadPart(record, `crash#${record.attempts_total}`)) as CrashNote | undefined;
  const lease = record.lease_until === undefined ? { absent: true as const } : { is: record.lease_until };
  const stack = type === undefined || type.sensitive ? undefined : note?.stack;
  return settleFailed(ports, { ...settling, stack }, crashFailure(record.attempts, note), {
    ...fence(record),
    lease_until: lease,
  });
}

async function settleCompleted(
  ports: SettlePorts,
  { record: claimed, envelope, type, onCompleted }: Settling,
  packed: Packed,
): Promise<Settled> {
  const settled = await endAs(ports, "completed", claimed, fence(claimed), async (record) => {
    const now = iso(ports.clock.now());
    const kept = retention(ports, record);
    await saveResult(ports, record, packed, kept.purge_at);
    await extras.keepEnded(ports, record, kept.purge_at);
    const ended = { finished_at: now, ...kept, ...resultFields(packed) };
    const attempt = attemptOf(record, now, "completed");
    const until = Math.max(record.purge_at, kept.purge_at);
    if (type?.keepInput) await ports.records.savePart(record, "envelope", envelope, until);
    const shown_input = inputAtEnd(recordAtEnd(record, ended, attempt), envelope, type);
    return ports.records.change(record, {
      when: { ...fence(record), ...sameRetention(record), cancel_requested_at: { absent: true } },
      set: { status: "completed", updated_at: now, ...ended, shown_input },
      remove: shown_input === undefined ? [...removedAtEnd, "shown_input"] : removedAtEnd,
      append: attempt,
    });
  });
  if (settled.as === "completed") onCompleted?.();
  if (settled.as !== "stale" && settled.record !== undefined) await followUp(ports, settled.record, envelope);
  return settled;
}

/** The fields that the end of a task removes. */
const removedAtEnd = ["lease_until", "lease_token", "error", "error_type", "error_kind", "needs_review"] as const;

const absentAtEnd: object = Object.fromEntries([...removedAtEnd, "shown_input"].map((field) => [field, undefined]));

/** A record as it ends, without its input: what is removed is undefined in it. */
const recordAtEnd = (record: TaskRecord, ended: object, attempt: Attempt): TaskRecord => ({
  ...record,
  ...absentAtEnd,
  ...ended,
  status: "completed",
  history: [...record.history, attempt],
});

async function settleCancelled(
  ports: SettlePorts,
  { record, envelope }: Settling,
  { interrupted }: Cancelled,
  fenced: Change["when"],
): Promise<Settled> {
  const settled = await endCancelled(ports, record, fenced, interrupted);
  if (settled.as === "cancelled" && settled.record !== undefined) await followUp(ports, settled.record, envelope);
  return settled;
}

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
      // Attempts that aggregate are counted anew.
      attempt: record.attempts - (record.closing_from ?? 0),
      maxAttempts: record.max_attempts,
      earlierOfKind: record.history.filter((attempt) => attempt.error_kind === failure.kind).length,
      retryAfterSeconds: failure.retryAfterSeconds,
      earlierOfBug: failure.kind === "transient" && settling.isOwnBug ? earlierOf(record, failure.type) : undefined,
    },
    ports.random,
    ports.timeScale,
  );
  if (!decision.retry) return settleDead(ports, settling, failure, fenced);
  return settleRetried(ports, settling, failure, fenced, decision.waitSeconds);
}

/** Earlier failures of this round with the same type of error. */
const earlierOf = ({ history }: TaskRecord, type: string): number =>
  history.filter(({ error_type }) => error_type === type).length;

async function settleRetried(
  ports: SettlePorts,
  { record: claimed, envelope, type, stack }: Settling,
  failure: Classified,
  fenced: Change["when"],
  waitSeconds: number,
): Promise<Settled> {
  const now = ports.clock.now();
  const dueAt = now + waitSeconds * 1000;
  const settled = await endAs(ports, "retried", claimed, fenced, async (record) => {
    const purgeAt = purgeAtOfWaiting(record, dueAt);
    await extras.keep(ports, record, purgeAt);
    const attempt = {
      ...attemptOf(record, iso(now), failedAs(failure, "retried"), failure, stack),
      next_attempt_at: iso(dueAt),
    };
    return ports.records.change(record, {
      when: { ...fenced, ...sameRetention(record), cancel_requested_at: { absent: true } },
      set: {
        status: "pending",
        updated_at: iso(now),
        due_at: iso(dueAt),
        retrying_in: record.priority,
        purge_at: purgeAt,
        kept_input: record.shown_input === undefined ? keptInput(envelope, type) : undefined,
        ...errorFields(failure),
        history: await historyBefore(ports, record, attempt, purgeAt),
      },
      remove: ["lease_until", "lease_token", "progress"],
      append: attempt,
    });
  });
  if (settled.as === "retried" && settled.record !== undefined) {
    await keepForWait(ports, settled.record, envelope, type);
    await dispatch(ports, settled.record, envelope);
    await extras.changed(ports, settled.record, "pending");
  }
  if (settled.as === "cancelled" && settled.record !== undefined) await followUp(ports, settled.record, envelope);
  return settled;
}

/** A crash and a time-out keep their own word in both cases. */
const failedAs = (failure: Classified, otherwise: "retried" | "failed"): AttemptOutcome =>
  failure.kind === "crashed" || failure.kind === "timed_out" ? failure.kind : otherwise;

async function settleDead(
  ports: SettlePorts,
  { record: claimed, envelope, stack, type }: Settling,
  failure: Classified,
  fenced: Change["when"],
): Promise<Settled> {
  const onFailed = type?.onFailed && { on_failed_attempts: type.maxAttempts };
  const settled = await endAs(ports, "failed", claimed, fenced, async (record) => {
    const attempt = attemptOf(record, iso(ports.clock.now()), failedAs(failure, "failed"), failure, stack);
    const { failForGood } = await import("../end/dead-letter.ts");
    return failForGood(ports, record, envelope, failure, {
      when: { ...fenced, cancel_requested_at: { absent: true } },
      set: {
        ...onFailed,
        history: await historyBefore(ports, record, attempt, deadLetterRetention(ports, record).purge_at),
      },
      append: attempt,
    });
  });
  if (settled.as !== "stale" && settled.record !== undefined) await followUp(ports, settled.record, envelope);
  return settled;
}

/**
 * Suspends an attempt: its task is pending again until the given time, without a lease and without a message in flight.
 * The attempt is not counted, but its number over all rounds is, so that its late writes cannot change anything. If a
 * signal came meanwhile, the task goes on immediately.
 * @throws PortUnavailable
 */
export async function settleSuspended(
  ports: EndPorts,
  { record: claimed, envelope, type }: Settling,
  suspension: Suspension,
): Promise<Settled> {
  const fenced = fence(claimed);
  const kept = keptInput(envelope, type);
  const settled = await endAs(ports, "suspended", claimed, fenced, async (record) => {
    const purgeAt = purgeAtOfWaiting(record, suspension.dueAt);
    // For the sender of a signal, or the end of a child, which has to send the task's message.
    if (mayEndEarly(suspension.waitingFor)) await ports.records.savePart(record, "envelope", envelope, purgeAt);
    await extras.keep(ports, record, purgeAt);
    const changed = await suspendUntil(ports, record, suspension, kept);
    if (changed.done || changed.record?.signals === record.signals) return changed;
    return suspendUntil(ports, record, { dueAt: ports.clock.now() }, kept);
  });
  if (settled.record === undefined) return settled;
  if (settled.as === "suspended") {
    await dispatch(ports, settled.record, envelope);
    await extras.changed(ports, settled.record, "pending");
  }
  if (settled.as === "cancelled") await followUp(ports, settled.record, envelope);
  return settled;
}

/** True for a wait that something else than its time may end. */
const mayEndEarly = (wait: Suspension["waitingFor"]): boolean => wait?.kind === "signal" || wait?.kind === "child";

function suspendUntil(
  ports: EndPorts,
  record: TaskRecord,
  { dueAt, waitingFor, fault }: Suspension,
  kept: string | undefined,
): Promise<Changed> {
  const purgeAt = purgeAtOfWaiting(record, dueAt);
  return ports.records.change(record, {
    when: {
      ...fence(record),
      ...sameRetention(record),
      cancel_requested_at: { absent: true },
      ...((mayEndEarly(waitingFor) || outlivesNewEntries(ports.clock, purgeAt)) && sameSignals(record)),
    },
    set: {
      status: "pending",
      updated_at: iso(ports.clock.now()),
      due_at: iso(dueAt),
      purge_at: purgeAt,
      attempts: record.attempts - 1,
      waiting_for: waitingFor,
      ...fault,
      kept_input: record.shown_input === undefined ? kept : undefined,
    },
    remove: ["lease_until", "lease_token"],
  });
}
