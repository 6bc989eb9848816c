import type { CountRequest } from "../limits/gate.ts";
import type { Changed } from "../model/change.ts";
import type { Envelope } from "../model/envelope.ts";
import { Overtaken, PortUnavailable } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import { iso, longestQueueLifeSeconds, statusAt, type TaskRecord } from "../model/record.ts";
import { isTerminal, type Status } from "../model/words.ts";
import { followMarked } from "../pipeline/end/follow-up.ts";
import { childEnvelope, needsMessage } from "../pipeline/end/keep-for-round.ts";
import { requestCancelChildren, sweepBeforeNextRound } from "../pipeline/end/request-own-task.ts";
import { dispatch, oneOffName } from "../pipeline/send/dispatch.ts";
import * as extras from "../pipeline/send/extras.ts";
import type { EntryPorts } from "../pipeline/send/keep-entries.ts";
import { mayKeep, sameInput } from "../pipeline/send/kept-input.ts";
import { endOfRound, storeRound } from "../pipeline/send/parts.ts";
import { reportChanged } from "../pipeline/send/report.ts";
import { markedRetention, retention, sameRetention } from "../pipeline/send/retention.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { KnownType } from "../task/catalog.ts";
import { type GivenInput, storeGiven } from "./given-input.ts";

export interface ControlPorts extends EndPorts {
  /** Absent: retries have no rate. */
  countRequest?: CountRequest;
  types: ReadonlyMap<string, KnownType>;
}

/** Number of tries when the task's status changes at the same time. */
const maxTries = 3;

/** Delay in seconds of the first message of a retry, which is sent before the record is changed. */
const safetyDelaySeconds = 30;

const notNow = (verb: string, status: Status) => new Problem("conflict", `A task that is ${status} cannot be ${verb}.`);

/** Options of a cancel. */
export interface CancelHow {
  /** True: an attempt that has not stopped after 5 s is ended with its process. */
  now?: boolean | undefined;
  /** The task that takes its place. Absent: none does. */
  supersededBy?: string;
}

/**
 * Cancels a task: immediately while it waits. While an attempt runs, its abort signal fires, and the attempt ends the
 * task.
 * @returns The record, `cancelled` or still `processing`.
 * @throws Problem `conflict` when it has ended, or its type is not cancellable; Overtaken
 */
export async function cancel(ports: ControlPorts, record: TaskRecord, how: CancelHow = {}): Promise<TaskRecord> {
  if (!isCancellable(ports, record)) {
    throw new Problem("conflict", `Tasks of type ${record.type} cannot be cancelled.`);
  }
  return cancelAny(ports, record, how);
}

export const isCancellable = ({ types }: Pick<ControlPorts, "types">, { type }: TaskRecord): boolean =>
  types.get(type)?.cancellable !== false;

/**
 * Cancels a task of any type.
 * @throws Problem `conflict` when it has ended; Overtaken
 */
export async function cancelAny(
  ports: EndPorts,
  record: TaskRecord,
  { now = false, supersededBy }: CancelHow = {},
): Promise<TaskRecord> {
  const asked = { ...(now && { cancel_now: true as const }), ...(supersededBy && { superseded_by: supersededBy }) };
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < maxTries && current !== undefined; tries++) {
    const nowIso = iso(ports.clock.now());
    const status = statusAt(current, nowIso);
    // Also when the write below was made at its first try, whose answer was lost.
    if (tries > 0 && current.status === "cancelled") {
      await followMarked(ports, current);
      return current;
    }
    if (isTerminal(status)) throw notNow("cancelled", status);
    const changed = await tryCancel(ports, current, { updated_at: nowIso, ...asked });
    if (changed.done) {
      if (changed.record.status === "cancelled") {
        reportChanged(ports, changed.record, "cancelled");
        await followMarked(ports, changed.record, childEnvelope(ports, current));
        await deleteOneOff(ports, current, nowIso);
      }
      return changed.record;
    }
    current = changed.record;
  }
  throw new Overtaken("task");
}

/** The fields that each way of a cancel sets. */
type CancelFields = Pick<TaskRecord, "updated_at" | "cancel_now" | "superseded_by">;

function tryCancel(ports: EndPorts, record: TaskRecord, fields: CancelFields): Promise<Changed> {
  if (record.status === "pending") return cancelWaiting(ports, record, fields);
  return record.family_state === "waiting" ? cancelParent(ports, record, fields) : requestCancel(ports, record, fields);
}

/**
 * Ends a parent that waits for its children. The request for their cancel comes first, so that a crash in between
 * leaves none running.
 */
async function cancelParent(ports: EndPorts, record: TaskRecord, fields: CancelFields): Promise<Changed> {
  await requestCancelChildren(ports, { ...record, ...fields }, "before");
  const kept = retention(ports, record);
  await extras.keepEnded(ports, record, kept.purge_at);
  return ports.records.change(record, {
    when: { status: { is: "processing" }, family_state: { is: "waiting" }, ...sameRetention(record) },
    set: { status: "cancelled", ...fields, finished_at: fields.updated_at, ...kept },
  });
}

const requestCancel = (ports: EndPorts, record: TaskRecord, fields: CancelFields) =>
  ports.records.change(record, {
    when: {
      status: { is: "processing" },
      attempts_total: { is: record.attempts_total },
      family_state: { not: "waiting" },
    },
    set: { cancel_requested_at: record.cancel_requested_at ?? fields.updated_at, ...fields },
  });

async function cancelWaiting(ports: EndPorts, record: TaskRecord, fields: CancelFields): Promise<Changed> {
  const kept = retentionOfWaiting(ports, record);
  await extras.keepEnded(ports, record, kept.purge_at);
  return ports.records.change(record, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: record.attempts_total },
      // It may have expired since it was read: a replacement can move its start.
      start_by: { above: fields.updated_at, orAbsent: true },
      ...sameRetention(record),
    },
    set: { status: "cancelled", ...fields, finished_at: fields.updated_at, ...kept },
    remove: ["start_by", "kept_input", "retrying_in"],
  });
}

/**
 * The retention of a waiting task that is cancelled. A message repeats the follow-up of a dead process, but it may come
 * after the retention of a task that starts late or waits in a line: the daily reconciliation does it there.
 */
function retentionOfWaiting(ports: EndPorts, record: TaskRecord) {
  const kept = retention(ports, record);
  const isSoon = record.line === undefined && record.due_at <= kept.retained_until;
  return isSoon ? kept : markedRetention(ports, record);
}

/**
 * Deletes the one-off schedule of a wait that has ended, after the follow-up, which the one-off would repeat. A one-off
 * that stays fires for a cancelled task, and its message finds nothing to do.
 */
export async function deleteOneOff(
  ports: Pick<EndPorts, "oneOffs">,
  record: TaskRecord,
  nowIso: string,
): Promise<void> {
  if (record.status !== "pending" || record.due_at <= nowIso) return;
  const name = oneOffName(record.task_id, record.attempts_total, Date.parse(record.due_at));
  await ports.oneOffs.delete(name).catch(unlessUnavailable);
}

function unlessUnavailable(error: unknown): void {
  if (!(error instanceof PortUnavailable)) throw error;
}

/**
 * Starts a new round of a failed task as `startRound` does, and requests the sweep that deletes its message from the
 * DLQ.
 * @throws Problem as `startRound`
 */
export async function retry(ports: EndPorts & EntryPorts, record: TaskRecord, given?: GivenInput): Promise<TaskRecord> {
  if (record.status === "failed") await sweepBeforeNextRound(ports, record);
  return startRound(ports, record, given);
}

/**
 * Starts a new round of a failed task: it leaves the dead letters, and its attempts start again at 0. Its message stays
 * in the DLQ: an operation on many tasks sweeps when it is done with them.
 * @param given Input of the next round and later ones. Absent: the input that the task failed with.
 * @throws Problem `conflict` when it is not failed, or was made with what cannot be used with the given input; `gone`
 * when its input is no longer kept; `too_large`
 */
export async function startRound(
  ports: EndPorts & EntryPorts,
  record: TaskRecord,
  given?: GivenInput,
): Promise<TaskRecord> {
  if (record.status !== "failed") throw notNow("retried", statusAt(record, iso(ports.clock.now())));
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  if (envelope === undefined) throw new Problem("gone", "The task's input is no longer kept.");
  await extras.beforeRound(ports, record);
  const now = ports.clock.now();
  const purgeAt = Math.ceil(now / 1000) + longestQueueLifeSeconds + record.retention_seconds;
  const send = (dueAt: number, message: Envelope) =>
    dispatch(ports, { ...record, due_at: iso(dueAt), purge_at: purgeAt }, message);
  const next = given === undefined ? undefined : await storeGiven(ports, record, given, purgeAt);
  await extras.keepAll(ports, record, purgeAt, envelope);
  // Sent before the change, so that a crash in between leaves no pending task without a message. It has the earlier
  // input, as another call may start the round.
  await send(now + safetyDelaySeconds * 1000, envelope);
  await storeRound(ports, record, purgeAt);
  const changed = await ports.records.change(record, {
    when: { status: { is: "failed" }, round: { is: record.round } },
    set: {
      ...{ status: "pending", updated_at: iso(now), due_at: iso(now), attempts: 0, history: [], purge_at: purgeAt },
      ...(next !== undefined && { input_part: next.message_id, input_version: next.input_version }),
    },
    add: { round: 1 },
    remove: [
      ...(next !== undefined && next.input_version === undefined ? (["input_version"] as const) : []),
      ...(["finished_at", "retained_until", "dead_letter_at", "buried_at", "progress"] as const),
      ...endOfRound,
    ],
  });
  const isOurs = changed.done || (next !== undefined && changed.record?.input_part === next.message_id);
  // Also when this write was made at its first try, whose answer was lost.
  if (!isOurs || changed.record === undefined) throw notNow("retried", changed.record?.status ?? "failed");
  await send(now, next ?? envelope);
  reportChanged(ports, changed.record, "replayed");
  return changed.record;
}

/**
 * Extends a task's retention to at least the given seconds from now; never shortens it.
 * @throws Overtaken when the task changes during each try
 */
export async function extend(
  ports: ControlPorts & EntryPorts,
  record: TaskRecord,
  retentionSeconds: number,
): Promise<TaskRecord> {
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < maxTries && current !== undefined; tries++) {
    const changed = await tryExtend(ports, current, retentionSeconds);
    if (changed.done) return changed.record;
    current = changed.record;
  }
  throw new Overtaken("task");
}

async function tryExtend(
  ports: ControlPorts & EntryPorts,
  record: TaskRecord,
  retentionSeconds: number,
): Promise<Changed> {
  const until = ports.clock.now() + retentionSeconds * 1000;
  const purgeAt = Math.ceil(until / 1000);
  // A new round drops `retained_until`, and ends with this retention.
  const retention_seconds = Math.max(record.retention_seconds, retentionSeconds);
  const retainedUntil = record.retained_until;
  // The record of a task in a line is kept together with its entry there: by the daily reconciliation, for as long as
  // it waits.
  if (retainedUntil === undefined && record.line !== undefined) {
    return change(ports, record, { retention_seconds, purge_at: record.purge_at });
  }
  await extras.keepAll(ports, record, purgeAt, needsNoMessage(ports, record) ? null : undefined);
  if (retainedUntil === undefined) {
    return change(ports, record, { retention_seconds, purge_at: Math.max(record.purge_at, purgeAt) });
  }
  if (iso(until) <= retainedUntil) {
    if (retention_seconds === record.retention_seconds) return { done: true, record };
    // A dead letter is kept for longer than it was asked to be: a later round ends with what was asked for.
    return change(ports, record, { retention_seconds, purge_at: record.purge_at, retained_until: retainedUntil });
  }
  return change(ports, record, { retained_until: iso(until), retention_seconds, purge_at: purgeAt });
}

/** Never shortens the retention, also when two calls run at once. */
const change = (
  ports: EndPorts,
  record: TaskRecord,
  set: Pick<TaskRecord, "retention_seconds" | "purge_at" | "retained_until">,
): Promise<Changed> =>
  ports.records.change(record, {
    when: {
      status: { is: record.status },
      round: { is: record.round },
      retention_seconds: { atMost: set.retention_seconds },
      purge_at: { atMost: set.purge_at },
      ...sameInput(record),
    },
    set: { ...set, updated_at: iso(ports.clock.now()) },
  });

/** The message beside the record of a task of a sensitive type is of no use once the task has ended for good. */
const needsNoMessage = ({ types }: ControlPorts, record: TaskRecord): boolean =>
  isTerminal(record.status) && record.status !== "failed" && !needsMessage(record) && !mayKeep(types.get(record.type));
