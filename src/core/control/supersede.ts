import type { Envelope } from "../model/envelope.ts";
import { Overtaken, PortUnavailable } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import type { TaskRecord } from "../model/record.ts";
import { followMarked } from "../pipeline/end/follow-up.ts";
import { startInTurn, taskBefore, tasksBefore, unlessEnded } from "../pipeline/end/turn.ts";
import type { EndPorts } from "../ports/extra.ts";
import { cancelAny } from "./control.ts";

/**
 * Cancels the tasks that a task waits for, and starts it once they are over. Its message is sent before: from then on
 * the task runs for certain, so that no task is cancelled for nothing. Repeatable.
 * @param given The task's message. Absent: the stored one.
 * @param how As for `cancelBefore`.
 * @returns The record after it.
 * @throws PortUnavailable
 */
export async function supersede(
  ports: EndPorts,
  record: TaskRecord,
  given?: Envelope,
  how: SupersedeHow = {},
): Promise<TaskRecord> {
  await cancelBefore(ports, record, how);
  return startInTurn(ports, record, given);
}

/** Options of `cancelBefore`. */
export interface SupersedeHow {
  /** True for the look of a worker: it follows up the ends of the tasks that a submit of the API has ended. */
  followsUp?: boolean;
}

/**
 * Cancels the tasks that a task waits for, or waited for when it was cancelled itself: not the later rounds of these,
 * which an operator has started since. Repeatable.
 * @throws PortUnavailable
 */
export async function cancelBefore(
  ports: EndPorts,
  record: TaskRecord,
  { followsUp = false }: SupersedeHow = {},
): Promise<void> {
  for (const taskId of tasksBefore(record)) {
    const found = await taskBefore(ports, record, taskId);
    if (followsUp && found !== undefined && wasEndedFor(found, record)) await followMarked(ports, found);
    const before = found && (await unlessEnded(ports, found));
    const isAsked = before?.status === "processing" && before.superseded_by !== undefined;
    const isLater = record.status === "cancelled" && before !== undefined && before.round > 1;
    if (before !== undefined && !isAsked && !isLater) await cancelFor(ports, before, record);
  }
}

/** True for a task that the submit of another one has ended, whose end nobody has followed up. */
const wasEndedFor = (before: TaskRecord, { task_id }: TaskRecord): boolean =>
  before.status === "cancelled" && before.superseded_by === task_id && before.rescued_at !== undefined;

async function cancelFor(ports: EndPorts, before: TaskRecord, { task_id }: TaskRecord): Promise<void> {
  // A one-off that stays finds nothing to do. Who submits may have no right to delete it.
  const oneOffs = { create: ports.oneOffs.create.bind(ports.oneOffs), delete: async () => {} };
  try {
    await cancelAny({ ...ports, oneOffs }, before, { supersededBy: task_id });
  } catch (error) {
    if (error instanceof Overtaken) throw new PortUnavailable("the cancel of a task", { cause: error });
    // It has ended by itself.
    if (!(error instanceof Problem && error.code === "conflict")) throw error;
  }
}
