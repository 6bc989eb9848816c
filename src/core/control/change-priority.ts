import { type Envelope, latestCreatedAt } from "../model/envelope.ts";
import { noSuchTask, Problem } from "../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/tier.ts";
import type { DispatchPorts } from "../ports/step-ports.ts";
import { dispatch, longestDelaySeconds } from "../send/dispatch.ts";
import { keptEnvelope } from "../send/kept-input.ts";
import { reportMoved } from "../send/report.ts";

/** Number of tries while the task changes at the same time. */
const mostTries = 3;

/**
 * Moves a waiting task to another tier. The record changes first: from then on only that tier's workers start the task, and the old tier's send its
 * message on. Where the input is at hand, a message is sent to the new tier immediately. It is a twin of the old one, and the claim lets one through.
 * Repeatable: a call that names the task's present tier changes nothing, and sends the message again, as the call before it may have died.
 * @returns The record after it.
 * @throws Problem `conflict` when the task does not wait; PortUnavailable
 */
export async function changePriority(ports: DispatchPorts, record: TaskRecord, priority: Tier): Promise<TaskRecord> {
  for (let tries = 0; tries < mostTries; tries++) {
    const nowMs = ports.clock.now();
    const changed = await ports.records.change(record, {
      when: {
        status: { is: "pending" },
        priority: { not: priority },
        start_by: { above: iso(nowMs), orAbsent: true },
        purge_at: { above: Math.floor(nowMs / 1000) },
      },
      set: { priority, updated_at: iso(nowMs) },
    });
    if (changed.done) reportMoved(ports, changed.record, record.priority);
    else mustWait(changed.record, nowMs);
    if (changed.record?.priority !== priority) continue;
    await sendAgain(ports, changed.record);
    return changed.record;
  }
  throw new Problem("unavailable", "The task changed at the same time; try again.", { retryAfterSeconds: 1 });
}

function mustWait(record: TaskRecord | undefined, nowMs: number): asserts record is TaskRecord {
  if (record === undefined || !isKept(record, nowMs)) throw noSuchTask();
  const status = statusAt(record, iso(nowMs));
  if (status === "pending" || status === "scheduled") return;
  throw new Problem("conflict", `A task that is ${status} cannot be moved to another tier.`);
}

/** Sends the message of a task. In a long wait it has none, and what ends the wait sends it to the record's tier. */
async function sendAgain(ports: DispatchPorts, record: TaskRecord): Promise<void> {
  if (Date.parse(record.due_at) - ports.clock.now() > longestDelaySeconds * 1000) return;
  const envelope = keptEnvelope(ports, record) ?? (await storedEnvelope(ports, record));
  if (envelope !== undefined) await dispatch(ports, record, envelope);
}

/** The envelope that a long wait or a failed round left beside the record; not that of an earlier task with the same id. */
async function storedEnvelope(ports: DispatchPorts, record: TaskRecord): Promise<Envelope | undefined> {
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  return envelope !== undefined && record.created_at <= latestCreatedAt(envelope) ? envelope : undefined;
}
