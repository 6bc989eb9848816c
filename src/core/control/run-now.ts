import type { Changed } from "../model/change.ts";
import { Overtaken } from "../model/errors.ts";
import { noSuchTask, Problem } from "../model/problem.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../model/record.ts";
import type { StoppedBy } from "../model/suspension.ts";
import { dispatch } from "../pipeline/send/dispatch.ts";
import { newEntryPurgeAt } from "../pipeline/send/keep-entries.ts";
import { reportDue } from "../pipeline/send/report.ts";
import { waitingEnvelope } from "../pipeline/send/waiting-task.ts";
import type { EndPorts } from "../ports/extra.ts";
import type { StepStore } from "../ports/steps.ts";
import { wakeOf } from "../task/step-calls.ts";
import { deleteOneOff } from "./control.ts";

/** Number of tries while the task changes at the same time. */
const maxTries = 3;

/** Ends a task's wait. Not done: the task changed at the same time. */
export type Hasten = (record: TaskRecord) => Promise<Changed>;

/** True for a task whose handler sleeps. */
const sleeps = (record: TaskRecord, nowIso: string): boolean =>
  record.status === "pending" && record.waiting_for?.kind === "sleep" && record.due_at > nowIso;

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
 * @param endSleep Ends a sleep of the task's handler, too. Undefined: a task that sleeps is not waiting.
 * @returns The record after it.
 * @throws Problem `not_waiting` when the task does not wait for its time, or its input is in a message that cannot be
 * read yet; PortUnavailable
 */
export async function runNow(ports: EndPorts, record: TaskRecord, endSleep?: Hasten): Promise<TaskRecord> {
  let current: TaskRecord | undefined = record;
  for (let tries = 0; tries < maxTries && current !== undefined; tries++) {
    const nowIso = iso(ports.clock.now());
    if (!isKept(current, Date.parse(nowIso))) throw noSuchTask();
    const ends: Hasten =
      endSleep !== undefined && sleeps(current, nowIso) ? endSleep : (one) => hasten(ports, one, nowIso);
    const changed = await ends(current);
    if (changed.done) return changed.record;
    current = changed.record;
  }
  if (current === undefined) throw noSuchTask();
  throw new Overtaken("task");
}

/** Makes a waiting task due now. If an earlier call has done so, sends the task's message again. */
async function hasten(ports: EndPorts, record: TaskRecord, nowIso: string): Promise<Changed> {
  const hastened = wasHastened(record, nowIso);
  if (!hastened && !waitsForItsTime(record, nowIso)) throw notWaiting(record, nowIso);
  const envelope = await waitingEnvelope(ports, record);
  if (envelope === undefined) throw notAtHand(record);
  if (hastened) {
    await dispatch(ports, record, envelope);
    return { done: true, record };
  }
  const changed = await ports.records.change(record, {
    when: stillWaits(record, nowIso),
    set: { due_at: nowIso, updated_at: nowIso },
  });
  if (changed.done) {
    reportDue(ports, changed.record);
    await dispatch(ports, changed.record, envelope);
    await deleteOneOff(ports, record, nowIso);
  }
  return changed;
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
  (record.attempts > 0 ||
    // A suspended attempt is not counted.
    (record.attempts_total > 0 && record.round === 1) ||
    (record.run_at !== undefined && record.due_at < record.run_at));

export function notWaiting(record: TaskRecord, nowIso: string): Problem {
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
  if (wait?.kind === "step")
    return `this task waits for attempt ${wait.attempt} of its step ${wait.step}, at ${wait.until}`;
  if (wait?.kind === "signal") return `this task's handler waits for the signal ${wait.signals.join(" or ")}`;
  if (wait?.kind === "child") return `this task waits for its child ${wait.children.join(" or ")}`;
  if (wait?.kind === "concurrency" && wait.order !== undefined)
    return "this task is held back by the one before it in the strict order of its key, which is not over";
  if (wait !== undefined) return `this task is held back by ${stops[wait.kind]}`;
  if (line !== undefined) return "this task waits in a line for its turn";
  return "this task is due already, and waits for a worker";
}

const stops: Readonly<Record<StoppedBy["kind"], string>> = {
  pause: "a pause",
  breaker: "the breaker of its type",
  concurrency: "the number of tasks of its key that may run",
  rate: "the number of tasks of its key that may start",
  unique: "the task that had its unique key before it",
};

export const notAtHand = ({ due_at }: TaskRecord) =>
  new Problem(
    "not_waiting",
    `This task cannot start before ${due_at}: its input is in a message that nobody can read earlier.`,
  );

/** The condition that a task still waits for the time that was read, and for nothing else. */
export const stillWaits = (record: TaskRecord, nowIso: string) =>
  ({
    status: { is: "pending" },
    attempts_total: { is: record.attempts_total },
    due_at: { is: record.due_at },
    waiting_for: { absent: true },
    line: { absent: true },
    start_by: { above: nowIso, orAbsent: true },
  }) as const;

/**
 * Ends the sleep of a suspended attempt: of several under way the next one to end. The end is stored before the record
 * changes, so that the attempt does not sleep again. Repeatable.
 * @returns Not done: the task changed at the same time.
 * @throws Problem `not_waiting` when the task's input is in a message that cannot be read yet; PortUnavailable
 */
export async function endSleep(
  ports: EndPorts & { steps: Pick<StepStore, "load" | "add"> },
  record: TaskRecord,
): Promise<Changed> {
  const envelope = await waitingEnvelope(ports, record);
  if (envelope === undefined) throw notAtHand(record);
  const { due_at } = record;
  const sleeps = (await ports.steps.load(record, "sleep")).filter(({ until }) => until === due_at);
  const purgeAt = newEntryPurgeAt(ports.clock, record);
  for (const sleep of sleeps) await ports.steps.add(record, wakeOf(sleep), purgeAt);
  const nowIso = iso(ports.clock.now());
  const changed = await ports.records.change(record, {
    when: {
      status: { is: "pending" },
      attempts_total: { is: record.attempts_total },
      due_at: { is: due_at },
      line: { absent: true },
    },
    set: { due_at: nowIso, updated_at: nowIso },
    remove: ["waiting_for"],
  });
  if (!changed.done) return changed;
  reportDue(ports, changed.record);
  await dispatch(ports, changed.record, envelope);
  await deleteOneOff(ports, record, nowIso);
  return changed;
}
