import type { Changed } from "../model/change.ts";
import { noSuchTask, Problem } from "../model/problem.ts";
import { isKept, iso, type TaskRecord } from "../model/record.ts";
import type { EndPorts } from "../ports/extra.ts";
import { dispatch } from "../send/dispatch.ts";
import * as extras from "../send/extras.ts";
import { reportRescheduled } from "../send/report.ts";
import { sameRetention } from "../send/retention.ts";
import { isUnstarted, movedStart } from "../send/start-time.ts";
import { waitingEnvelope } from "../send/waiting-envelope.ts";
import { notAtHand, notWaiting, runNow, stillWaits, waitsForItsTime } from "./run-now.ts";

/** Number of tries while the task changes at the same time. */
const mostTries = 3;

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
  for (let tries = 0; tries < mostTries && current !== undefined; tries++) {
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
