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
 * Moves a waiting task to another tier. The record changes first: from then on only that tier's workers start the task,
 * and the old tier's send its message on. Where the input is at hand, a message is sent to the new tier immediately. It
 * is a twin of the old one, and the claim lets one through. Repeatable: a call that names the task's present tier
 * changes nothing, and sends the message again, as the call before it may have died.
 * @returns The record after it.
 * @throws Problem `conflict` when the task does not wait; PortUnavailable
 */
export async function changePriority(ports: DispatchPorts, record: TaskRecord, priority: Tier): Promise<TaskRecord> {
  let current = record;
  for (let tries = 0; tries < mostTries; tries++) {
    const nowMs = ports.clock.now();
    const retrying = current.retrying_in !== undefined;
    const changed = await ports.records.change(current, {
      when: {
        status: { is: "pending" },
        priority: { not: priority },
        retrying_in: retrying ? { not: priority } : { absent: true },
        start_by: { above: iso(nowMs), orAbsent: true },
        purge_at: { above: Math.floor(nowMs / 1000) },
      },
      set: { priority, updated_at: iso(nowMs), ...(retrying && { retrying_in: priority }) },
    });
    if (changed.done) reportMoved(ports, changed.record, current.priority);
    else mustWait(changed.record, nowMs);
    if (changed.record === undefined) throw noSuchTask();
    current = changed.record;
    if (current.priority !== priority) continue;
    await sendAgain(ports, current);
    return current;
  }
  throw new Problem("unavailable", "The task changed at the same time; try again.", { retryAfterSeconds: 1 });
}

function mustWait(record: TaskRecord | undefined, nowMs: number): void {
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

/**
 * The envelope that a long wait or a failed round left beside the record; not that of an earlier task with the same id.
 */
async function storedEnvelope(ports: DispatchPorts, record: TaskRecord): Promise<Envelope | undefined> {
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  return envelope !== undefined && record.created_at <= latestCreatedAt(envelope) ? envelope : undefined;
}
