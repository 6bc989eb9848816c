import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import { iso, longestQueueLifeSeconds, type TaskRecord } from "../../model/record.ts";
import { waitsForTurn } from "../../model/suspension.ts";
import { openBefore, tasksBefore } from "../../pipeline/end/turn.ts";
import { storedEnvelope } from "../../pipeline/send/large-input.ts";
import { reportChanged, reportSubmitted } from "../../pipeline/send/report.ts";
import { markedRetention, sameRetention } from "../../pipeline/send/retention.ts";
import { isUnstarted } from "../../pipeline/send/waiting-task.ts";
import { type NewTask, withdraw } from "../../pipeline/submit/admit-task.ts";
import type { Accepted, SubmitPorts } from "../../pipeline/submit/submit-ports.ts";
import type { Holder } from "../../ports/unique.ts";
import { keyPurgeAt } from "./index.ts";
import {
  adopt,
  dropOwn,
  isSame,
  joinedKey,
  type Look,
  sendAndNote,
  supersede,
  type UniqueSubmit,
} from "./unique-call.ts";

/**
 * Makes the call's task, or goes on with the task that an earlier call with the idempotency key made: it takes the key,
 * and is sent. Returns undefined when another task took the key.
 */
export async function make(one: UniqueSubmit, found: Look, task: NewTask | undefined): Promise<Accepted | undefined> {
  const { ports, key, body } = one;
  const { seen, own } = found;
  const before = await openTasks(one, found, own ?? task?.record);
  const record = own === undefined ? await makeNew(one, found, before, task) : await resumeOwn(one, before, own);
  if (record === undefined) return undefined;
  const isNew = own === undefined && task !== undefined;
  const envelope: Envelope = isNew ? task.envelope : await storedEnvelope(ports, record, body.input);
  if (!(await ports.uniqueKeys.take(key, holderOf(record, envelope), seen, keyPurgeAt(record.purge_at)))) {
    one.overtaken = { seen };
    // A task that another call has made may have had its key by now, and be sent: the next look tells.
    if (own === undefined) await withdraw(ports, record);
    return undefined;
  }
  // Another call with the idempotency key may be about to withdraw it.
  if (one.own !== undefined && (await adopt(ports, record)) === undefined) return undefined;
  try {
    await sendAndNote(ports, key, record, envelope);
  } catch (error) {
    // With an idempotency key another call may have sent it. The key has the message for the next submit.
    one.leavesTask = one.own !== undefined || !(await withdraw(ports, record));
    throw error;
  }
  reportSubmitted(ports, record);
  // Its message is sent: it runs, whatever comes of this call.
  one.leavesTask = waitsForTurn(record);
  if (ports.supersede === undefined) await endWaiters(ports, record, before);
  return { record: await supersede(ports, record, envelope), replayed: own !== undefined };
}

/** Writes the record of the call's task, unless another call with the same idempotency key has joined a task. */
async function makeNew(
  one: UniqueSubmit,
  found: Look,
  before: readonly TaskRecord[],
  task: NewTask | undefined,
): Promise<TaskRecord | undefined> {
  const { ports } = one;
  const record = await create(ports, task && behind(task, before));
  if (record === undefined || !(await hasJoined(one, found))) return record;
  await withdraw(ports, record);
  return undefined;
}

/** Goes on with the task of an earlier call, unless it would not wait for all that it has to wait for now. */
async function resumeOwn(
  one: UniqueSubmit,
  before: readonly TaskRecord[],
  own: TaskRecord,
): Promise<TaskRecord | undefined> {
  if (before.every(({ task_id }) => tasksBefore(own).includes(task_id))) return adopt(one.ports, own);
  await dropOwn(one, own);
  return undefined;
}

export function holderOf(record: TaskRecord, unsent: Envelope): Holder {
  const { task_id, created_at } = record;
  const before = [...tasksBefore(record)];
  return { task_id, created_at, unsent, ...(before.length > 0 && { before }) };
}

/**
 * The tasks for whose ends a new task waits: the holder that it cancels, and those for which the last task of the key
 * still waits, or would wait if it had not ended.
 */
async function openTasks(
  { ports, unique }: UniqueSubmit,
  { holder, before }: Look,
  record: TaskRecord | undefined,
): Promise<TaskRecord[]> {
  if (record === undefined) return [];
  const open = unique.mode === "restart" && holder !== undefined ? [holder] : [];
  for (const taskId of before) {
    const task = taskId === record.task_id ? undefined : await openBefore(ports, record, taskId);
    if (task !== undefined) open.push(task);
  }
  return open;
}

/** Due time of a task that waits for its turn, from its start on, in milliseconds: no task before it runs by then. */
const longestTurnMs = longestQueueLifeSeconds * 1000;

/** A new task that waits for the ends of others. */
function behind(task: NewTask, before: readonly TaskRecord[]): NewTask {
  if (before.length === 0) return task;
  const tasks = before.map(({ task_id }) => task_id);
  const due_at = iso(Date.parse(task.record.due_at) + longestTurnMs);
  return { ...task, record: { ...task.record, due_at, waiting_for: { kind: "unique", tasks } } };
}

/**
 * True when another call with the same idempotency key has joined a task since the look, or has joined the same one in
 * another way.
 */
async function hasJoined({ ports, own }: UniqueSubmit, { joined }: Look): Promise<boolean> {
  const present = own && (await ports.uniqueKeys.holder(joinedKey(own)));
  if (present === undefined) return false;
  return joined === undefined || !isSame(present, joined) || present.replaced !== joined.replaced;
}

/** A withdrawn record is not written again under the same time. */
export const withTime = (task: NewTask, tries: number): NewTask => {
  const created_at = iso(Date.parse(task.record.created_at) + tries);
  return { ...task, record: { ...task.record, created_at } };
};

/**
 * Writes the record of a new task. Returns undefined when another call with the same idempotency key has written it.
 */
export async function create(ports: SubmitPorts, task: NewTask | undefined): Promise<TaskRecord | undefined> {
  if (task === undefined) return undefined;
  const record = { ...task.record, sender: ports.newId() };
  const noting = ports.noteTenant?.(record.tenant_id);
  const existing = await ports.records.create(record, iso(ports.clock.now()));
  await noting;
  // The first try of this write may have been made, and its answer lost.
  return existing === undefined || existing.sender === record.sender ? record : undefined;
}

/**
 * Ends the tasks that waited for their turn when a task took their key, and whose turn has not come: by one write each,
 * as the API has no right to more. So of many submits of one key before a worker comes, two tasks stay open, and the
 * newest one waits for two. The mark lets the worker that gets the new task's message follow up these ends. A write
 * that fails is left to that worker.
 * @param before Tasks that `record` waits for. Its message is sent: it runs for certain.
 */
export async function endWaiters(ports: SubmitPorts, record: TaskRecord, before: readonly TaskRecord[]): Promise<void> {
  for (const waiter of before) {
    if (mayEnd(waiter)) await endWaiter(ports, waiter, record).catch(unlessUnavailable);
  }
}

/** A child's end is counted, and needs its message for a later round: that is left to the worker. */
const mayEnd = (waiter: TaskRecord): boolean =>
  isUnstarted(waiter) && waitsForTurn(waiter) && waiter.family_leaf === undefined;

async function endWaiter(ports: SubmitPorts, waiter: TaskRecord, { task_id }: TaskRecord): Promise<void> {
  const kept = markedRetention(ports, waiter);
  // What is beside the record would have to be kept for longer first.
  if (kept.purge_at > waiter.purge_at) return;
  const nowIso = iso(ports.clock.now());
  const changed = await ports.records.change(waiter, {
    when: {
      ...{ status: { is: "pending" }, attempts_total: { is: 0 }, created_at: { is: waiter.created_at } },
      // Its turn makes it due.
      ...{ due_at: { is: waiter.due_at }, start_by: { above: nowIso, orAbsent: true }, ...sameRetention(waiter) },
    },
    set: { status: "cancelled", superseded_by: task_id, updated_at: nowIso, finished_at: nowIso, ...kept },
    remove: ["start_by", "kept_input"],
  });
  if (changed.done) reportChanged(ports, changed.record, "cancelled");
}

function unlessUnavailable(error: unknown): void {
  if (!(error instanceof PortUnavailable)) throw error;
}
