import { inLanes } from "../../util/in-lanes.ts";
import type { Envelope } from "../model/envelope.ts";
import { Overtaken, PortUnavailable } from "../model/errors.ts";
import { Problem } from "../model/problem.ts";
import { iso, type TaskKey, type TaskRecord } from "../model/record.ts";
import { waitsForTurn } from "../model/suspension.ts";
import { isTerminal } from "../model/words.ts";
import { childPages, type FamilyReadPorts } from "../pipeline/end/child-results.ts";
import { followMarked, followUp } from "../pipeline/end/follow-up.ts";
import { isLost } from "../pipeline/end/stop-family.ts";
import { firstLookSeconds, startInTurn, taskBefore, tasksBefore, unlessEnded } from "../pipeline/end/turn.ts";
import { dispatch, longestDelaySeconds } from "../pipeline/send/dispatch.ts";
import { newestKept } from "../pipeline/send/kept-input.ts";
import type { EndPorts, SettlePorts } from "../ports/extra.ts";
import type { Verdict } from "../ports/queues.ts";
import type { TaskMessage } from "../task/puller.ts";
import { type CancelHow, type ControlPorts, cancel, cancelAny } from "./control.ts";

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
interface SupersedeHow {
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

/**
 * Looks at a task that waits for the end of those that had its unique key. Its submit may have died before it cancelled
 * them, or may have left that to this call, also if the task was cancelled since: they were to end. The end of the last
 * one may not have been told. The message is sent anew, later each time: many receives
 * would bring it to redrive.
 * @throws PortUnavailable
 */
export async function lookAtTurn(
  ports: SettlePorts,
  { envelope, delivery }: TaskMessage,
  record: TaskRecord,
): Promise<Verdict> {
  const newest = await newestKept(ports, record, envelope);
  const certain = await keepFromWithdrawal(ports, record);
  if (certain?.created_at !== record.created_at) return "done";
  const current = isWaiting(certain) ? await supersede(ports, certain, newest, asLook) : certain;
  if (!isWaiting(current)) {
    // Who ended it may have died before anybody was notified.
    if (isTerminal(current.status)) await followUp(ports, current, envelope);
    if (current.status === "cancelled") await cancelBefore(ports, current, asLook);
    return "done";
  }
  const nowMs = ports.clock.now();
  const ageSeconds = Math.floor((nowMs - Date.parse(record.created_at)) / 1000);
  const waitSeconds = Math.min(longestDelaySeconds, Math.max(firstLookSeconds, ageSeconds));
  await dispatch(ports, { ...current, due_at: iso(nowMs + waitSeconds * 1000) }, newest, delivery.redrives);
  return "done";
}

const asLook = { followsUp: true };

const isWaiting = (record: TaskRecord): boolean => record.status === "pending" && waitsForTurn(record);

/**
 * Makes it certain that the task runs, before another one is cancelled for it: its submit may think that its message
 * was not sent, and withdraw it.
 * @returns The record after it, which may not wait any more. Undefined: it is withdrawn.
 */
async function keepFromWithdrawal(ports: SettlePorts, record: TaskRecord): Promise<TaskRecord | undefined> {
  const { created_at, due_at, sender } = record;
  if (sender === undefined) return record;
  const changed = await ports.records.change(record, {
    when: {
      ...{ status: { is: "pending" }, attempts_total: { is: 0 }, created_at: { is: created_at } },
      ...{ due_at: { is: due_at }, purge_at: { above: Math.floor(ports.clock.now() / 1000) } },
    },
    set: {},
    remove: ["sender"],
  });
  return changed.record;
}

/** Children that are cancelled at the same time. */
const lanes = 25;

/**
 * Cancels the open children of a cancelled parent, or of a parent whose threshold cannot be reached any more. Children
 * whose type is not cancellable go on. Returns the number of cancelled children.
 */
export async function cancelChildren(
  ports: ControlPorts & FamilyReadPorts,
  { now, ...key }: TaskKey & CancelHow,
): Promise<number> {
  const parent = await ports.records.get(key, "consistently");
  if (parent === undefined) return 0;
  const waits = await isLost(ports, parent);
  if (!waits && parent.status !== "cancelled") return 0;
  let count = 0;
  for await (const { children } of childPages(ports, parent)) {
    const open = children.filter((child) => !isTerminal(child.status));
    const cancelled = await inLanes(open, lanes, (child) => cancelOne(ports, child, { now }));
    count += cancelled.filter(Boolean).length;
    // The parent waits for the ends that a dead run of this has not counted.
    const ended = waits ? children.filter(({ status }) => status === "cancelled") : [];
    await inLanes(ended, lanes, (child) => followUp(ports, child));
  }
  return count;
}

/** False for a child that cannot be cancelled, or has ended at the same time. */
async function cancelOne(ports: ControlPorts, child: TaskRecord, how: CancelHow): Promise<boolean> {
  try {
    await cancel(ports, child, how);
    return true;
  } catch (error) {
    if (error instanceof Problem && error.code === "conflict") return false;
    throw error;
  }
}
