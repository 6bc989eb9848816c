import { inLanes } from "../../util/in-lanes.ts";
import type { Changed } from "../model/change.ts";
import { classify } from "../model/classify.ts";
import { type Envelope, latestCreatedAt } from "../model/envelope.ts";
import { PermanentError, PortUnavailable } from "../model/errors.ts";
import { systemTenant } from "../model/internal-names.ts";
import { isKept, iso, type TaskRecord } from "../model/record.ts";
import { waitsForTurn } from "../model/suspension.ts";
import { entryMarginSeconds, longestLineSeconds } from "../model/wait-queue.ts";
import { isTerminal, type Tier, tiers } from "../model/words.ts";
import { closeIfFull, isFamilyFull } from "../pipeline/end/close-family.ts";
import { failForGood } from "../pipeline/end/dead-letter.ts";
import { followMarked } from "../pipeline/end/follow-up.ts";
import { childEnvelope } from "../pipeline/end/keep-for-round.ts";
import { requestSweep } from "../pipeline/end/request-own-task.ts";
import { dispatch } from "../pipeline/send/dispatch.ts";
import * as extras from "../pipeline/send/extras.ts";
import { keptEnvelope, newestKept } from "../pipeline/send/kept-input.ts";
import { reportChanged } from "../pipeline/send/report.ts";
import { expiryOf } from "../pipeline/send/retention.ts";
import { withdraw } from "../pipeline/submit/admit-task.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { WaitQueues } from "../ports/flow.ts";
import type { OpenTasks, QueueDepth, QueueDepths, Records } from "../ports/tasks.ts";

/** Result of a pass. Times are ISO 8601 UTC. */
export interface ReconcilePass {
  at: string;
  /** True when it read the table to its end. */
  whole: boolean;
  /** Open tasks that it saw, and those that it sent again, ended, or whose family or line it went on with. */
  open: number;
  sent: number;
  ended: number;
  /** Late tasks that it left alone: their tier is behind, or their message is the only copy of their input. */
  left: number;
  /** Where the next pass goes on. Absent: at the beginning. */
  next?: string;
}

const stateKey = { tenant_id: systemTenant, task_id: "rescue" };

/** The state is kept for this time after a pass, in seconds. */
const stateSeconds = 90 * 86_400;

/** Stores what a pass found. */
export const saveReconcile = (
  { records }: { records: Pick<Records, "savePart"> },
  pass: ReconcilePass,
): Promise<void> => records.savePart(stateKey, "rescue", pass, Math.floor(Date.parse(pass.at) / 1000) + stateSeconds);

/** The last pass. Undefined: there was none. */
export const lastReconcile = async ({
  records,
}: {
  records: Pick<Records, "loadPart">;
}): Promise<ReconcilePass | undefined> => (await records.loadPart(stateKey, "rescue")) as ReconcilePass | undefined;

/*
 * Liveness must not rest on messages alone. A message can wait out its queue's retention, a submit can die between its
 * two writes, a count can be lost. Once a day a pass reads the table and goes on with each open task that nothing seems
 * to wake. Each step may be repeated and be late: the claim lets one message through, and every other step is a
 * conditional change. A pass is bounded, and the next one goes on where it stopped.
 */

export interface ReconcilePorts extends EndPorts {
  openTasks: OpenTasks;
  depths: QueueDepths;
  lines: WaitQueues;
}

/** Parts of the table that a pass reads, at most: with 1 MB each, about two million records for $0.03. */
const maxParts = 2_000;

/** Messages that a pass sends, at most. */
const maxSends = 10_000;

/** A tier with more messages than this is behind: a task that is late there may just wait for its turn. */
const busyDepth = 1_000;

/**
 * A child that is late for this time, in milliseconds, while its tier has no message, has lost its own: longer than a
 * message stays with redrive.
 */
const lostChildMs = 86_400_000;

/** Tasks that a pass goes on with at the same time. */
const lanes = 10;

interface Pass {
  ports: ReconcilePorts;
  nowMs: number;
  found: ReconcilePass;
  depths: Map<Tier, Promise<QueueDepth>>;
  looked: Set<string>;
}

/**
 * Makes one pass.
 * @param deadlineMs Epoch milliseconds at which it must have ended.
 */
export async function reconcile(ports: ReconcilePorts, deadlineMs: number): Promise<ReconcilePass> {
  const nowMs = ports.clock.now();
  const earlier = await lastReconcile(ports);
  const found: ReconcilePass = { at: iso(nowMs), whole: false, open: 0, sent: 0, ended: 0, left: 0 };
  const pass: Pass = { ports, nowMs, found, depths: new Map(), looked: new Set() };
  let next = earlier?.next;
  for (let parts = 0; parts < maxParts && found.sent < maxSends && ports.clock.now() < deadlineMs; parts++) {
    const part = await ports.openTasks.part(next);
    found.open += part.items.filter(({ status }) => !isTerminal(status)).length;
    await inLanes(part.items, lanes, (record) => reconcileOne(pass, record));
    next = part.next;
    if (next === undefined) break;
  }
  found.whole = next === undefined;
  await sweepDeadLetters(ports);
  const state: ReconcilePass = { ...found, ...(next !== undefined && { next }) };
  await saveReconcile(ports, state);
  const { at: _, ...counts } = found;
  const level = found.sent + found.ended > 0 ? "warn" : "info";
  ports.log[level]("looked for open tasks that nothing wakes", { ...counts });
  return state;
}

/** A sweep lists the letters whose record is gone. Only tiers with dead letters cost one. */
async function sweepDeadLetters(ports: ReconcilePorts): Promise<void> {
  for (const tier of tiers) {
    try {
      const { visible, inFlight } = await ports.depths.ofDlq(tier);
      if (visible + inFlight > 0) await requestSweep(ports, tier, ports.newId());
    } catch (error) {
      ports.log.warn("could not request the daily sweep of a DLQ; the next look does", { tier, error: String(error) });
    }
  }
}

/** Goes on with a task that needs it. A task that cannot be helped now is left to the next pass. */
async function reconcileOne(pass: Pass, record: TaskRecord): Promise<void> {
  const { need, sinceMs } = needOf(record, pass.nowMs);
  if (need === "none") return;
  try {
    if (need === "expire") await expire(pass, record);
    else if (need === "close") await close(pass, record);
    else if (need === "send") await sendAgain(pass, record, sinceMs);
    else if (need === "wait") await keepWaiting(pass, record);
    else if (need === "follow") await followMarked(pass.ports, record);
    else await lookAtLine(pass, record);
  } catch (error) {
    if (!(error instanceof PortUnavailable)) throw error;
    pass.found.left += 1;
  }
}

async function expire(pass: Pass, record: TaskRecord): Promise<void> {
  const { when, set, remove } = expiryOf(pass.ports, record);
  const change = { when, set: { ...set, ...reconciled(pass) }, ...(remove && { remove }) };
  await ended(pass, await pass.ports.records.change(record, change), "expired", childEnvelope(pass.ports, record));
}

/** The mark of a task that a reconciliation ends. */
const reconciled = ({ nowMs }: Pass) => ({ rescued_at: iso(nowMs) });

async function ended(
  pass: Pass,
  { done, record }: Changed,
  outcome: "expired" | "failed",
  envelope?: Envelope,
): Promise<void> {
  const { ports, found } = pass;
  // The answer of the write may have been lost, and its repeat finds the task ended.
  if (record === undefined || !isTerminal(record.status)) return;
  if (done) reportChanged(ports, record, outcome);
  if (done) found.ended += 1;
  await followMarked(ports, record, envelope);
}

async function close(pass: Pass, record: TaskRecord): Promise<void> {
  const { ports, found } = pass;
  if (!(await isFamilyFull(ports, record))) {
    if (record.family_stop === "armed")
      await (await import("../pipeline/end/stop-family.ts")).stopIfLost(ports, record);
    return;
  }
  const marked = await ports.records.change(record, { when: unchanged(record), set: reconciled(pass) });
  if (!marked.done) return;
  const parent = await closeIfFull(ports, marked.record);
  if (parent === undefined) return;
  found.ended += 1;
  await followMarked(ports, parent);
}

/** The condition that a task is still as it was read. */
const unchanged = ({ status, attempts_total, updated_at }: TaskRecord) =>
  ({ status: { is: status }, attempts_total: { is: attempts_total }, updated_at: { is: updated_at } }) as const;

/**
 * Sends a task's message. A task whose tier is behind may still have its own message, unless that is too old for any
 * queue.
 */
async function sendAgain(pass: Pass, record: TaskRecord, sinceMs: number): Promise<void> {
  const { ports, found, nowMs } = pass;
  const isGone = sinceMs + certainlyGoneMs <= nowMs;
  const { visible, delayed } = isGone ? noMessages : await depthOf(pass, record.priority);
  if (visible + delayed > busyDepth) {
    found.left += 1;
    return;
  }
  if (await isLeftOver(ports, record)) {
    if (await withdraw(ports, record)) found.ended += 1;
    return;
  }
  const envelope = await envelopeOf(ports, record);
  if (envelope === undefined && (isGone || (await isLostChild(pass, record, sinceMs)))) return giveUp(pass, record);
  if (envelope === undefined) {
    found.left += 1;
    return;
  }
  const noted = await ports.records.change(record, { when: unchanged(record), set: { sent_again_at: iso(nowMs) } });
  if (!noted.done) return;
  const due = waitsForTurn(record) ? { ...noted.record, due_at: iso(nowMs) } : noted.record;
  await dispatch(ports, due, envelope);
  found.sent += 1;
}

/**
 * True for a task that never had its unique key: another submit was faster, and the table did not answer when this one
 * was to be withdrawn. Its message was never sent, and no client knows of it. A task that has started, or was retried,
 * had its key.
 */
async function isLeftOver({ uniqueKeys }: ReconcilePorts, record: TaskRecord): Promise<boolean> {
  const { unique_key, round, attempts_total, task_id } = record;
  if (unique_key === undefined || round > 1 || attempts_total > 0) return false;
  const holder = await uniqueKeys.holder({ ...record, unique_key });
  return holder !== undefined && holder.task_id !== task_id;
}

const noMessages: QueueDepth = { visible: 0, delayed: 0, inFlight: 0 };

/** Messages of a tier's queues. */
function depthOf({ ports, depths }: Pass, tier: Tier): Promise<QueueDepth> {
  const known = depths.get(tier);
  if (known !== undefined) return known;
  const read = ports.depths.ofTier(tier);
  depths.set(tier, read);
  return read;
}

/**
 * True for a child for which its parent waits although no message of it is left: the attempt that created it died
 * before it sent the message, and no later attempt spawned it. The parent need not wait until the message of any task
 * would be gone.
 */
async function isLostChild(pass: Pass, record: TaskRecord, sinceMs: number): Promise<boolean> {
  const { ports, nowMs } = pass;
  const { family_leaf: leaf, parent_id: parentId, tenant_id, priority } = record;
  if (leaf === undefined || parentId === undefined || sinceMs + lostChildMs > nowMs) return false;
  const parent = await ports.records.get({ tenant_id, task_id: parentId });
  if (parent?.status !== "processing" || parent.family_state !== "waiting") return false;
  const { visible, delayed, inFlight } = await depthOf(pass, priority);
  return visible + delayed + inFlight === 0;
}

/** The task's message, from its record or from the copy beside it; not that of an earlier task with the same id. */
async function envelopeOf(ports: ReconcilePorts, record: TaskRecord): Promise<Envelope | undefined> {
  const kept = keptEnvelope(ports, record);
  if (kept !== undefined) return newestKept(ports, record, kept);
  const stored = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  if (stored === undefined || record.created_at > latestCreatedAt(stored)) return undefined;
  return newestKept(ports, record, stored);
}

/** Ends a task whose message is gone, and with it the only copy of its input. */
async function giveUp(pass: Pass, record: TaskRecord): Promise<void> {
  const { ports, nowMs } = pass;
  const error = new PermanentError(
    "the task's message was lost, and with it the only copy of its input: submit it again",
  );
  const change = { when: unchanged(record), set: reconciled(pass) };
  await ended(pass, await failForGood(ports, record, undefined, classify(error, [], nowMs), change), "failed");
}

/**
 * Keeps a task, all that is beside its record, and its place in its line for as long again as when it began to wait.
 */
async function keepWaiting({ ports, nowMs, found }: Pass, record: TaskRecord): Promise<void> {
  const { line = "", created_at: createdAt, task_id: taskId } = record;
  const entry = await ports.lines.find(line, { createdAt, taskId });
  if (entry === undefined) {
    found.left += 1;
    return;
  }
  const purge_at = Math.floor(nowMs / 1000) + longestLineSeconds;
  await extras.keepAll(ports, record, purge_at);
  // The record last: after a death, the next pass does all again.
  await ports.lines.keep(line, entry, purge_at + entryMarginSeconds);
  await ports.records.change(record, { when: unchanged(record), set: { purge_at, updated_at: iso(nowMs) } });
}

/**
 * Sends the message of one task of a line: its worker puts it back, and looks at the line. Nobody may do so where a
 * check was lost.
 */
async function lookAtLine({ ports, looked, found }: Pass, record: TaskRecord): Promise<void> {
  const { line = "", created_at: createdAt, task_id: taskId } = record;
  const isStrict = record.waiting_for?.kind === "concurrency" && record.waiting_for.order === "strict";
  // A task that has left its line and does not come has the turn, and all others wait for it.
  const isLooked = looked.has(line);
  if (isLooked && !isStrict) return;
  looked.add(line);
  const entry = await ports.lines.find(line, { createdAt, taskId });
  if (isLooked && entry !== undefined) return;
  const envelope = entry?.envelope ?? (await envelopeOf(ports, record));
  if (envelope === undefined) {
    found.left += 1;
    return;
  }
  await dispatch(ports, record, envelope);
  found.sent += 1;
}

/**
 * A task is left alone for this time after the moment at which something should have gone on with it, in milliseconds:
 * longer than SQS hides a message whose worker has died.
 */
const marginMs = 2 * 3_600_000;

/**
 * A message is in SQS for at most 14 days; a day more for those that are received then. After that a task's message is
 * certainly gone.
 */
const certainlyGoneMs = 15 * 86_400_000;

/**
 * A task's entry in a line, and its record, are kept for 60 days from the beginning of its wait. They are kept anew
 * when this time is left of them, in seconds, whatever has changed the task in between.
 */
const leftInLineSeconds = 20 * 86_400;

/**
 * The step that goes on with an open task which nothing seems to wake. `send`: its message is sent again. `expire`: it
 * ends, as it did not start in time. `close`: its family is looked at. `wait`: it waits in a line for so long that its
 * entry must be kept anew. `look`: it waits in a line, which is looked at. `follow`: who ended it may
 * have died before it did what follows. `none`: something will wake it.
 */
type Need = "none" | "send" | "expire" | "close" | "wait" | "look" | "follow";

/** The step that an open task needs, and since when, in epoch milliseconds, it has waited for it. */
export function needOf(record: TaskRecord, nowMs: number): { need: Need; sinceMs: number } {
  const { need, sinceMs } = dueOf(record, nowMs);
  if (!isKept(record, nowMs)) return { need: "none", sinceMs };
  // Also for a task that a client changes again and again, which is never late.
  if (need === "look" && record.purge_at - leftInLineSeconds <= nowMs / 1000) return { need: "wait", sinceMs };
  return { need: sinceMs + marginMs <= nowMs ? need : "none", sinceMs };
}

/** The step that becomes due, and when. */
function dueOf(record: TaskRecord, nowMs: number): { need: Need; sinceMs: number } {
  const { status, line, family_state, start_by = "9999", rescued_at } = record;
  const updatedMs = Date.parse(record.updated_at);
  if (status === "pending") {
    if (start_by <= iso(nowMs)) return { need: "expire", sinceMs: Date.parse(start_by) };
    if (line !== undefined) return { need: "look", sinceMs: updatedMs };
    // A task that waits for its turn is looked at again and again.
    if (waitsForTurn(record)) return { need: "send", sinceMs: updatedMs };
    return { need: "send", sinceMs: Math.max(Date.parse(record.due_at), updatedMs) };
  }
  if (status !== "processing") return { need: rescued_at === undefined ? "none" : "follow", sinceMs: updatedMs };
  if (family_state === "waiting") return { need: "close", sinceMs: updatedMs };
  return { need: "send", sinceMs: record.lease_until === undefined ? updatedMs : Date.parse(record.lease_until) };
}
