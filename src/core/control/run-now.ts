import { type Envelope, latestCreatedAt } from "../model/envelope.ts";
import { noSuchTask, Problem } from "../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import type { StoppedBy } from "../model/suspension.ts";
import type { EndPorts } from "../ports/extra.ts";
import { dispatch } from "../send/dispatch.ts";
import { keptEnvelope } from "../send/kept-input.ts";
import { reportDue } from "../send/report.ts";
import { deleteOneOff } from "./control.ts";

/** Number of tries while the task changes at the same time. */
const mostTries = 3;

/** True for a task that waits for its time, and for nothing else: for a retry, or for the end of its delay. */
export const waitsForItsTime = (record: TaskRecord, nowIso: string): boolean => {
  const status = statusAt(record, nowIso);
  const waits = status === "pending" || status === "scheduled";
  return waits && record.waiting_for === undefined && record.line === undefined && record.due_at > nowIso;
};

/**
 * Makes a task that waits for its time due now. The record changes first, then a message is sent; the message that
 * waits is a twin, and the claim lets one of the two through. Repeatable: a call for a task that an earlier call made
 * due sends its message again, as that call may have died.
 * @returns The record after it.
 * @throws Problem `not_waiting` when the task does not wait for its time, or its input is in a message that cannot be
 * read yet; PortUnavailable
 */
export async function runNow(ports: EndPorts, record: TaskRecord): Promise<TaskRecord> {
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < mostTries && current !== undefined; tries++) {
    const nowMs = ports.clock.now();
    if (!isKept(current, nowMs)) throw noSuchTask();
    const hastened = wasHastened(current, iso(nowMs));
    if (!hastened && !waitsForItsTime(current, iso(nowMs))) throw notWaiting(current, iso(nowMs));
    const envelope = await envelopeOf(ports, current);
    if (envelope === undefined) throw notAtHand(current);
    if (hastened) return sent(ports, current, envelope);
    const changed = await ports.records.change(current, {
      when: {
        status: { is: "pending" },
        attempts_total: { is: current.attempts_total },
        due_at: { is: current.due_at },
        waiting_for: { absent: true },
        line: { absent: true },
        start_by: { above: iso(nowMs), orAbsent: true },
      },
      set: { due_at: iso(nowMs), updated_at: iso(nowMs) },
    });
    if (changed.done) {
      reportDue(ports, changed.record);
      const after = await sent(ports, changed.record, envelope);
      await deleteOneOff(ports, current, iso(nowMs));
      return after;
    }
    current = changed.record;
  }
  if (current === undefined) throw noSuchTask();
  throw new Problem("unavailable", "The task changed at the same time; try again.", { retryAfterSeconds: 1 });
}

/**
 * True when an earlier call made the task due: no other writer sets both times of a task that has waited to one
 * instant.
 */
const wasHastened = (record: TaskRecord, nowIso: string): boolean =>
  statusAt(record, nowIso) === "pending" &&
  record.waiting_for === undefined &&
  record.due_at <= nowIso &&
  record.due_at === record.updated_at &&
  (record.attempts > 0 || (record.run_at !== undefined && record.due_at < record.run_at));

async function sent(ports: EndPorts, record: TaskRecord, envelope: Envelope): Promise<TaskRecord> {
  await dispatch(ports, record, envelope);
  return record;
}

/** The task's message, from its record or from the copy beside it; not that of an earlier task with the same id. */
async function envelopeOf(ports: EndPorts, record: TaskRecord): Promise<Envelope | undefined> {
  const kept = keptEnvelope(ports, record);
  if (kept !== undefined) return kept;
  const envelope = (await ports.records.loadPart(record, "envelope")) as Envelope | undefined;
  return envelope !== undefined && record.created_at <= latestCreatedAt(envelope) ? envelope : undefined;
}

function notWaiting(record: TaskRecord, nowIso: string): Problem {
  return new Problem(
    "not_waiting",
    `Only a wait for a retry or for a start time can be ended: ${whyNot(record, nowIso)}.`,
  );
}

/** The reason why a task does not start earlier. */
function whyNot(record: TaskRecord, nowIso: string): string {
  const { waiting_for: wait, line } = record;
  const status = statusAt(record, nowIso);
  if (status !== "pending" && status !== "scheduled") return `this task is ${status}`;
  if (wait?.kind === "sleep") return `this task sleeps in its handler, until ${wait.until}`;
  if (wait?.kind === "signal") return `this task's handler waits for the signal ${wait.signals.join(" or ")}`;
  if (wait !== undefined) return `this task is held back by ${stops[wait.kind]}`;
  if (line !== undefined) return "this task waits in a line for its turn";
  return "this task is due already, and waits for a worker";
}

const stops: Readonly<Record<StoppedBy["kind"], string>> = {
  pause: "a pause",
  breaker: "the breaker of its type",
  concurrency: "the number of tasks of its key that may run",
  rate: "the number of tasks of its key that may start",
};

const notAtHand = ({ due_at }: TaskRecord) =>
  new Problem(
    "not_waiting",
    `This task cannot start before ${due_at}: its input is in a message that nobody can read earlier.`,
  );
