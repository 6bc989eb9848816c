import type { Changed } from "../../model/change.ts";
import { leaseSeconds } from "../../model/change.ts";
import { type Envelope, latestCreatedAt } from "../../model/envelope.ts";
import { WrittenLater } from "../../model/errors.ts";
import { isKept, iso, type TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/words.ts";
import type { SettlePorts } from "../../ports/extra.ts";
import type { Verdict, Visibility } from "../../ports/queues.ts";
import type { Settled } from "../../task/limiter.ts";
import { canStart, type TaskMessage, timeoutOf } from "../../task/puller.ts";
import { followUp } from "../end/follow-up.ts";
import { dispatch, longestDelaySeconds } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { newestKept } from "../send/kept-input.ts";
import { reportChanged, reportDuplicate, reportSettled, taskFields } from "../send/report.ts";
import { expiryOf } from "../send/retention.ts";
import { settleCrashed } from "./settle.ts";

/** An attempt that wants to start. */
interface Claim {
  /** Tells the attempt from others. */
  token: string;
  /** False: a task whose last attempt crashed is not claimed. */
  alone: boolean;
  /** Epoch milliseconds of the start that a rate gave the task: its handler waits for it. Absent: it starts at once. */
  startMs?: number | undefined;
  /** The bucket of its permit. Absent: the first one, or it needs no permit. */
  bucket?: number | undefined;
  /** The line of strict order whose turn it has. Absent: its type has no such order. */
  turn?: string | undefined;
  /** False: a task whose record names a line is not claimed at once. Absent: only a message from a line claims it. */
  mayBeInLine?: boolean;
}

/** Starts an attempt with one conditional update: of all workers that have a message of the task, one succeeds. */
export async function claim(ports: SettlePorts, message: TaskMessage, how: Claim): Promise<Changed> {
  const { token, alone, startMs = 0, bucket = 0, turn, mayBeInLine = message.ticket !== undefined } = how;
  const now = ports.clock.now();
  const startedMs = Math.max(now, startMs);
  const noBucket = bucket > 0 ? [] : (["place_bucket"] as const);
  const changed = await ports.records.change(message.envelope, {
    when: {
      ...canStart(message, now),
      ...(alone ? {} : { error_kind: { not: "crashed" } }),
      ...(mayBeInLine ? {} : { line: { absent: true } }),
    },
    set: {
      status: "processing",
      started_at: iso(startedMs),
      updated_at: iso(now),
      lease_until: iso(startedMs + leaseSeconds(timeoutOf(message)) * 1000),
      lease_token: token,
      ...(bucket > 0 && { place_bucket: bucket }),
      ...(turn !== undefined && { strict_line: turn }),
    },
    add: { attempts: 1, attempts_total: 1 },
    remove: ["start_by", "progress", "waiting_for", "line", "kept_input", "retrying_in", ...noBucket],
  });
  const { record } = changed;
  if (changed.done || mayBeInLine || record?.status !== "pending" || record.line === undefined) return changed;
  return claimFromLine(ports, message, how, record);
}

/**
 * Starts a task whose record names a line, with a message that does not come from one. The worker that was to put it
 * there may have died, or had no answer, before it kept what is beside the record for as long as the record.
 */
async function claimFromLine(ports: SettlePorts, message: TaskMessage, how: Claim, record: TaskRecord) {
  await extras.keepAll(ports, { ...record, purge_at: 0 }, record.purge_at);
  return claim(ports, message, { ...how, mayBeInLine: true });
}

/** True when a task could start now, except that its last attempt crashed. */
export function mustRunAlone(
  ports: SettlePorts,
  { delivery, envelope }: TaskMessage,
  record: TaskRecord | undefined,
): boolean {
  const now = ports.clock.now();
  return (
    record?.error_kind === "crashed" &&
    record.status === "pending" &&
    record.priority === delivery.tier &&
    record.due_at <= iso(now) &&
    isKept(record, now) &&
    isOf(envelope, record)
  );
}

/** Decides what to do with a message whose task could not be claimed. */
export async function resolveUnclaimed(
  ports: SettlePorts,
  visibility: Visibility,
  message: TaskMessage,
  record: TaskRecord | undefined,
): Promise<Verdict> {
  const now = ports.clock.now();
  const { envelope } = message;
  if (record === undefined || !isKept(record, now) || !isOf(envelope, record)) {
    // A short retention may have ended before anybody was notified of the end.
    await (record && isOf(envelope, record) && extras.ended(ports, record));
    ports.log.warn("dropped a message whose task does not exist", { outcome: "skipped_unknown" });
    return "done";
  }
  if (isTerminal(record.status)) {
    // It may have left it to this message to end the tasks before it.
    if (record.waiting_for) await lookAtTurn(ports, message, record);
    await followUp(ports, record, envelope);
    if (!message.ticket?.isBackup) reportDuplicate(ports, record, "dropped a message of a task that has ended");
    return "done";
  }
  if (record.status === "processing") return resolveProcessing(ports, visibility, message, record);
  if (record.status !== "pending") throw new WrittenLater("the status of a task");
  if (record.start_by !== undefined && record.start_by <= iso(now)) return expire(ports, record, envelope);
  if (record.due_at > iso(now) || wasReplaced(record)) return resolveEarly(ports, visibility, message, record);
  return record.priority === message.delivery.tier ? "again" : sendOn(ports, message, record);
}

/**
 * The task was moved to another tier, perhaps by a process that died before it sent a message there: so this one goes
 * there.
 */
async function sendOn(ports: SettlePorts, { delivery, envelope }: TaskMessage, record: TaskRecord): Promise<Verdict> {
  await dispatch(ports, record, await newestKept(ports, record, envelope), delivery.redrives);
  ports.log.info("sent a message to the tier that its task was moved to", {
    outcome: "skipped_moved",
    moved_to: record.priority,
  });
  return "done";
}

/** True for a task that waits for its first attempt, and whose input or due time a later submit has changed. */
const wasReplaced = ({ replaced, attempts_total }: TaskRecord): boolean =>
  replaced !== undefined && attempts_total === 0;

const lookAtTurn = async (...given: [SettlePorts, TaskMessage, TaskRecord]): Promise<Verdict> =>
  (await import("../../control/cancel-others.ts")).lookAtTurn(...given);

/**
 * A message that comes before its task's due time. The wait's own message is on its way, unless its sender died before
 * it sent it. So this one waits, too: a new message for each early one would multiply them. A long wait has one
 * one-off, however often it is dispatched. The due time of a debounced task moves, and no other message comes for it:
 * this one is sent anew each time, as many receives would bring it to redrive. It may be due by now, after the claim
 * found it early.
 */
async function resolveEarly(
  ports: SettlePorts,
  visibility: Visibility,
  message: TaskMessage,
  record: TaskRecord,
): Promise<Verdict> {
  if (record.waiting_for?.kind === "unique") return lookAtTurn(ports, message, record);
  const { envelope, delivery } = message;
  const seconds = Math.ceil((Date.parse(record.due_at) - ports.clock.now()) / 1000) + 1;
  if (seconds > longestDelaySeconds || wasReplaced(record)) {
    // A message that lives on has the newest input, whose part is not kept for as long.
    await dispatch(ports, record, await newestKept(ports, record, envelope), delivery.redrives);
    return "done";
  }
  await visibility.renew(delivery, seconds);
  reportDuplicate(ports, record, "put a message back: its task is not due yet");
  return "again";
}

/** False for a message of an earlier task with the same id, and for a forged message that names another type. */
const isOf = (envelope: Envelope, record: TaskRecord): boolean =>
  record.created_at <= latestCreatedAt(envelope) && record.type === envelope.type;

/** While the lease lasts, the message waits for its end. After it, the attempt has crashed. */
async function resolveProcessing(
  ports: SettlePorts,
  visibility: Visibility,
  message: TaskMessage,
  record: TaskRecord,
): Promise<Verdict> {
  const { delivery, envelope, type } = message;
  if (record.family_state === "waiting") return resolveWaiting(ports, record);
  const leftMs = Date.parse(record.lease_until ?? record.updated_at) - ports.clock.now();
  if (leftMs >= 0) {
    const seconds = Math.ceil(leftMs / 1000) + 1;
    await visibility.renew(delivery, seconds);
    reportDuplicate(ports, record, "put a message back: an attempt of its task still has the lease");
    return "again";
  }
  const newest = await newestKept(ports, record, envelope);
  const settled = await settleCrashed(ports, { record, envelope: newest, type });
  reportCrashed(ports, record, settled);
  return afterCrash(ports, settled, newest);
}

/**
 * A settlement that changed nothing may have been made at its first try, whose answer was lost: then its end is
 * followed up here.
 */
export async function afterCrash(ports: SettlePorts, settled: Settled, envelope: Envelope): Promise<Verdict> {
  if (settled.as !== "stale") return "done";
  if (settled.record === undefined || !isTerminal(settled.record.status)) return "again";
  await followUp(ports, settled.record, envelope);
  return "done";
}

/**
 * A parent that waits for its children needs no message. A death may have left it waiting for children that have all
 * ended.
 */
export async function resolveWaiting(ports: SettlePorts, record: TaskRecord): Promise<Verdict> {
  const { closeIfFull } = await import("../end/close-family.ts");
  const ended = await closeIfFull(ports, record);
  if (ended !== undefined) await followUp(ports, ended);
  reportDuplicate(ports, record, "dropped a message of a task that waits for its children");
  return "done";
}

/** Logs and counts an attempt whose worker died. */
export const reportCrashed = (ports: SettlePorts, record: TaskRecord, settled: Settled): void =>
  // The error is Offload's own and quotes no input, so it is not sensitive.
  reportSettled({ ...ports, log: ports.log.with(taskFields(record)) }, record, settled, false);

/** Number of tries to end a task whose retention changes at the same time. */
const maxExpireTries = 3;

/** Ends a task that did not start before `start_by`. */
export async function expire(
  ports: SettlePorts,
  record: TaskRecord,
  envelope: Envelope,
  tries = maxExpireTries,
): Promise<Verdict> {
  const changed = await ports.records.change(record, expiryOf(ports, record));
  if (changed.done) reportChanged(ports, changed.record, "expired");
  // Also when this write was made at its first try, whose answer was lost.
  if (changed.record !== undefined && isTerminal(changed.record.status))
    await followUp(ports, changed.record, envelope);
  // Still not started: only the retention has changed.
  if (changed.done || changed.record?.status !== "pending" || changed.record.attempts_total > 0) return "done";
  return tries > 1 ? expire(ports, changed.record, envelope, tries - 1) : "again";
}
