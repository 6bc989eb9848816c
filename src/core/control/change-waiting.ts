import type { Changed } from "../model/change.ts";
import { type Envelope, latestCreatedAt } from "../model/envelope.ts";
import { Overtaken } from "../model/errors.ts";
import { noSuchTask, Problem } from "../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import { lineOf } from "../model/wait-queue.ts";
import type { Status, Tier } from "../model/words.ts";
import { dispatch, longestDelaySeconds } from "../pipeline/send/dispatch.ts";
import * as extras from "../pipeline/send/extras.ts";
import type { EntryPorts } from "../pipeline/send/keep-entries.ts";
import { keptEnvelope, sameInput } from "../pipeline/send/kept-input.ts";
import { reportInputChanged, reportMoved, reportRescheduled } from "../pipeline/send/report.ts";
import { sameRetention } from "../pipeline/send/retention.ts";
import { isUnstarted, movedStart, waitingEnvelope } from "../pipeline/send/waiting-task.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { Wait, WaitQueues } from "../ports/flow.ts";
import type { DispatchPorts } from "../ports/steps.ts";
import { type GivenInput, storeGiven } from "./given-input.ts";
import { notAtHand, notWaiting, runNow, stillWaits, waitsForItsTime } from "./run-now.ts";

/** Number of tries while the task changes at the same time. */
const maxTries = 3;

/**
 * Moves the time for which a task waits: its start, or for an operator also its next attempt. The record changes first,
 * and no attempt starts before the new time, whichever message comes. A message that waits for an earlier time is sent
 * on when it comes; for an earlier time than that, another one is sent. Repeatable: the same time again sends that one
 * again, as the call before it may have died.
 * @param dueMs Epoch milliseconds. A time in the past means now.
 * @param mayMoveRetry False: only a task that has not started can be moved.
 * @returns The record after it.
 * @throws Problem `not_waiting` when the task does not wait for its time, or its input is in a message that cannot be
 * read yet; PortUnavailable
 */
export async function reschedule(
  ports: EndPorts,
  record: TaskRecord,
  dueMs: number,
  mayMoveRetry: boolean,
): Promise<TaskRecord> {
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < maxTries && current !== undefined; tries++) {
    const nowMs = ports.clock.now();
    if (!isKept(current, nowMs)) throw noSuchTask();
    if (!mayMoveRetry && !isUnstarted(current)) throw notYours();
    if (dueMs <= nowMs) return runNow(ports, current);
    if (!waitsForItsTime(current, iso(nowMs))) throw notWaiting(current, iso(nowMs));
    const changed = await moveTo(ports, current, dueMs);
    if (changed.done) return changed.record;
    current = changed.record;
  }
  if (current === undefined) throw noSuchTask();
  throw new Problem("unavailable", "The task changed at the same time; try again.", { retryAfterSeconds: 1 });
}

/** Changes the record of a task that waits for its time, and sends its message where none comes early enough. */
async function moveTo(ports: EndPorts, record: TaskRecord, dueMs: number): Promise<Changed> {
  const nowIso = iso(ports.clock.now());
  const isLater = iso(dueMs) > record.due_at;
  const envelope = isLater ? undefined : await waitingEnvelope(ports, record);
  if (!isLater && envelope === undefined) throw notAtHand(record);
  const moved = movedStart(record, dueMs);
  await extras.keepAll(ports, record, moved.purge_at);
  const changed = await ports.records.change(record, {
    when: {
      ...stillWaits(record, nowIso),
      purge_at: { is: record.purge_at },
      ...sameRetention(record),
      // A write that arrives late, after another call has moved the task back, changes nothing.
      updated_at: { is: record.updated_at },
    },
    set: { updated_at: nowIso, ...moved },
  });
  if (!changed.done) return changed;
  reportRescheduled(ports, changed.record);
  // The one-off schedule of the time before stays: a one-off is named by its second, so another move may need it again.
  if (envelope !== undefined) await dispatch(ports, changed.record, envelope);
  return changed;
}

const notYours = () =>
  new Problem("not_waiting", "Only a task that has not started can be moved; an operator can move a retry, too.");

export interface MovePorts extends DispatchPorts {
  lines: Pick<WaitQueues, "find" | "remove">;
}

/**
 * Moves a waiting task to another tier. The record changes first: from then on only that tier's workers start the task,
 * and the old tier's send its message on. Where the input is at hand, in the record or in a line, a message is sent to
 * the new tier immediately. It is a twin of the old one, and the claim lets one through. Repeatable: a call that names
 * the task's present tier changes nothing, and sends the message again, as the call before it may have died.
 * @returns The record after it.
 * @throws Problem `conflict` when the task does not wait; PortUnavailable
 */
export async function changePriority(ports: MovePorts, record: TaskRecord, priority: Tier): Promise<TaskRecord> {
  let current = record;
  for (let tries = 0; tries < maxTries; tries++) {
    const nowMs = ports.clock.now();
    const retrying = current.retrying_in !== undefined;
    const changed = await ports.records.change(current, {
      when: {
        status: { is: "pending" },
        priority: current.priority === priority ? { not: priority } : { is: current.priority },
        retrying_in: retrying ? { not: priority } : { absent: true },
        start_by: { above: iso(nowMs), orAbsent: true },
        purge_at: { above: Math.floor(nowMs / 1000) },
        // A write that arrives late, after another call has moved the task back, changes nothing.
        updated_at: { is: current.updated_at },
      },
      set: { ...toTier(priority, current), updated_at: iso(nowMs), ...(retrying && { retrying_in: priority }) },
    });
    if (changed.done) reportMoved(ports, changed.record, current.priority);
    else mustWait(changed.record, nowMs, (status) => `A task that is ${status} cannot be moved to another tier.`);
    if (changed.record === undefined) throw noSuchTask();
    current = changed.record;
    if (current.priority !== priority) continue;
    await sendAgain(ports, current);
    return current;
  }
  throw new Overtaken("task");
}

const toTier = (priority: Tier, { priority: old, earlier_tiers: earlier = [] }: TaskRecord) => ({
  priority,
  earlier_tiers: [...new Set([...earlier, old])].filter((tier) => tier !== priority),
});

/** @throws Problem for a task that does not wait for a start, with the text of its status */
function mustWait(record: TaskRecord | undefined, nowMs: number, refusal: (status: Status) => string): void {
  if (record === undefined || !isKept(record, nowMs)) throw noSuchTask();
  const status = statusAt(record, iso(nowMs));
  if (status === "pending" || status === "scheduled") return;
  throw new Problem("conflict", refusal(status));
}

/**
 * Sends the message of a task. In a long wait a task has none: what ends the wait sends it to the record's tier. Only a
 * task that was put off while it was in the line of a pause has nothing else that would send it.
 */
async function sendAgain(ports: MovePorts, record: TaskRecord): Promise<void> {
  const isLong = Date.parse(record.due_at) - ports.clock.now() > longestDelaySeconds * 1000;
  if (isLong && !inPause(record)) return;
  const waiting = await entryInLine(ports, record);
  if (isLong && waiting === undefined) return;
  const envelope = keptEnvelope(ports, record) ?? waiting?.envelope ?? (await storedEnvelope(ports, record));
  if (envelope === undefined) return;
  await dispatch(ports, record, envelope);
  if (waiting !== undefined) await leavePause(ports, record, waiting);
}

/** True when the task waits in the line of a pause. */
const inPause = ({ line = "" }: TaskRecord): boolean => lineOf(line)?.kind === "pause";

/** The task's entry in the line that its record names. Undefined: it waits in none, or was admitted. */
const entryInLine = async ({ lines }: MovePorts, { line, created_at, task_id }: TaskRecord) =>
  line === undefined ? undefined : lines.find(line, { createdAt: created_at, taskId: task_id });

/**
 * Takes a task out of the line of a pause: if the pause stops it in its new tier, too, its message comes back there. In
 * another line the task keeps its turn, and its message comes back to it.
 */
async function leavePause({ lines }: MovePorts, record: TaskRecord, waiting: Wait): Promise<void> {
  if (inPause(record)) await lines.remove(record.line ?? "", waiting);
}

/**
 * The envelope that a long wait or a failed round left beside the record; not that of an earlier task with the same id.
 */
async function storedEnvelope(ports: DispatchPorts, record: TaskRecord): Promise<Envelope | undefined> {
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  return envelope !== undefined && record.created_at <= latestCreatedAt(envelope) ? envelope : undefined;
}

/**
 * Replaces the input of a waiting task. The new one is stored as a part that only this change names: a worker that has
 * a message with another input reads the part.
 * @throws Problem `conflict` when the task does not wait, or was made with what cannot be used with the given input;
 * `too_large`; PortUnavailable
 */
export async function changeInput(
  ports: DispatchPorts & EntryPorts,
  record: TaskRecord,
  given: GivenInput,
): Promise<TaskRecord> {
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < maxTries && current !== undefined; tries++) {
    mustWait(current, ports.clock.now(), (status) => `The input of a task that is ${status} cannot be changed.`);
    const envelope = await storeGiven(ports, current, given, current.purge_at);
    const changed = await nameInput(ports, current, envelope);
    if (changed.done || changed.record?.input_part === envelope.message_id) {
      reportInputChanged(ports, changed.record ?? current);
      return changed.record ?? current;
    }
    current = changed.record;
  }
  if (current === undefined) throw noSuchTask();
  throw new Overtaken("task");
}

/** The change holds only while the task waits as it did, with the input that it had. */
const nameInput = ({ records, clock }: DispatchPorts, record: TaskRecord, { message_id, input_version }: Envelope) =>
  records.change(record, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: record.attempts_total },
      ...sameInput(record),
      // The part is stored for as long as the record was to be kept.
      purge_at: { is: record.purge_at },
      start_by: { above: iso(clock.now()), orAbsent: true },
    },
    set: {
      input_part: message_id,
      updated_at: iso(clock.now()),
      ...(input_version !== undefined && { input_version }),
    },
    ...(input_version === undefined && { remove: ["input_version"] }),
  });
