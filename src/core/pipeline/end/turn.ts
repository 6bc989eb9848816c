import type { Envelope } from "../../model/envelope.ts";
import { isKept, iso, statusAt, type TaskRecord } from "../../model/record.ts";
import { isTerminal } from "../../model/words.ts";
import type { DispatchPorts } from "../../ports/steps.ts";
import { dispatch } from "../send/dispatch.ts";
import { reportChanged } from "../send/report.ts";
import { expiryOf } from "../send/retention.ts";
import { waitingEnvelope } from "../send/waiting-task.ts";

/*
 * A task with a unique key waits until the tasks that had the key before it are over: its submit cancels them. Its due
 * time is far away until then, so no worker starts it.
 */

/** A look at a task that waits for its turn comes after this time, in seconds: its turn itself is told at once. */
export const firstLookSeconds = 30;

/** The ids of the tasks that have to be over before a task starts. */
export const tasksBefore = ({ waiting_for: wait }: TaskRecord): readonly string[] =>
  wait?.kind === "unique" ? wait.tasks : [];

/** A record with a later time of submit than this, in milliseconds, is another task with the same id. */
const clockSkewMs = 30_000;

/**
 * The record of a task that another one waits for, or waited for. Undefined: it is gone.
 * @throws PortUnavailable
 */
export async function taskBefore(
  ports: DispatchPorts,
  { tenant_id, created_at }: TaskRecord,
  taskId: string,
): Promise<TaskRecord | undefined> {
  const before = await ports.records.get({ tenant_id, task_id: taskId }, "consistently");
  if (before === undefined || !isKept(before, ports.clock.now())) return undefined;
  return Date.parse(before.created_at) > Date.parse(created_at) + clockSkewMs ? undefined : before;
}

/**
 * The record of a task that another one waits for. Undefined: it is over.
 * @throws PortUnavailable
 */
export async function openBefore(
  ports: DispatchPorts,
  record: TaskRecord,
  taskId: string,
): Promise<TaskRecord | undefined> {
  const before = await taskBefore(ports, record, taskId);
  return before && unlessEnded(ports, before);
}

/**
 * Returns a task that has not ended. A task whose time to start has passed is ended here: no worker can start it after
 * that, whatever its clock says.
 * @throws PortUnavailable
 */
export async function unlessEnded(ports: DispatchPorts, record: TaskRecord): Promise<TaskRecord | undefined> {
  if (isTerminal(record.status)) return undefined;
  if (!isTerminal(statusAt(record, iso(ports.clock.now())))) return record;
  const changed = await ports.records.change(record, expiryOf(ports, record));
  if (changed.done) reportChanged(ports, changed.record, "expired");
  const current = changed.record;
  return current === undefined || isTerminal(current.status) ? undefined : current;
}

/**
 * Makes a task due whose turn has come, and sends its message. Repeatable.
 * @param given The task's message. Absent: the stored one.
 * @returns The record after it.
 * @throws PortUnavailable
 */
export async function startInTurn(ports: DispatchPorts, record: TaskRecord, given?: Envelope): Promise<TaskRecord> {
  for (const taskId of tasksBefore(record)) {
    if ((await openBefore(ports, record, taskId)) !== undefined) return record;
  }
  const envelope = given ?? (await waitingEnvelope(ports, record));
  if (envelope === undefined) return record;
  const now = ports.clock.now();
  const updated_at = iso(now);
  const { created_at, due_at, run_at = updated_at } = record;
  const sender = ports.newId();
  const changed = await ports.records.change(record, {
    when: {
      ...{ status: { is: "pending" }, attempts_total: { is: 0 }, round: { is: 1 } },
      ...{ created_at: { is: created_at }, due_at: { is: due_at } },
    },
    set: { updated_at, due_at: later(run_at, updated_at), sender },
    remove: ["waiting_for"],
  });
  const current = changed.record;
  if (current === undefined) return record;
  // Also when this write was made at its first try, whose answer was lost.
  if (current.status === "pending" && current.sender === sender) await dispatch(ports, current, envelope);
  return current;
}

const later = (one: string, other: string): string => [one, other].sort()[1] ?? other;
