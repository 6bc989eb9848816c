import { inLanes } from "../../../util/in-lanes.ts";
import { leaseSeconds, longestLeaseSeconds } from "../../model/change.ts";
import type { Ticket } from "../../model/envelope.ts";
import type { WaitQueue } from "../../model/wait-queue.ts";
import type { WaitingEntry, WaitingTask } from "../../ports/flow.ts";
import type { PassedPermit, TaskMessage } from "../../task/puller.ts";
import type { LimitedType } from "../../task/type-limits.ts";
import { numberOf } from "./place-book.ts";
import { bucketCount, type Sizes } from "./shards.ts";
import type { WaitQueuePorts } from "./wait-queue-ports.ts";

/** Messages that are sent at the same time. Many tasks of a fast rate, or after a pause, go within a second. */
const lanes = { rate: 50, concurrency: 10, pause: 50, breaker: 10 } as const;

/**
 * A backup message comes this long after the first lease of its task's attempt, in seconds: what precedes the claim
 * takes its time.
 */
const backupMarginSeconds = 15;

/** Sends the messages of tasks, each with what earlier lines granted it and with `more`. */
export async function sendAll(
  ports: WaitQueuePorts,
  line: WaitQueue,
  tasks: readonly WaitingEntry[],
  more: Ticket = {},
): Promise<void> {
  await inLanes(await withEnvelopes(ports, line, tasks), lanes[line.kind], (task) => {
    const ticket = ticketOf(task, more);
    // What a pause or a breaker lets go may still be stopped by what this process knows.
    const mayPull = line.kind === "concurrency" || line.kind === "rate";
    return sendOne(ports, line, task, ticket, mayPull ? ports.puller?.messageFor(task, ticket) : undefined);
  });
}

/**
 * Sends a task's message, and removes the task from its line. A message for a later start arrives up to a second before
 * it. A task that is sent and not removed is sent again, which makes a twin. The task that this worker takes begins
 * meanwhile, as it has its permit or its start: if the process dies before the backup message is sent, the task is
 * still in its line.
 * @param pulled The message with which this worker pulls the task. Undefined: it does not.
 */
export async function sendOne(
  ports: WaitQueuePorts,
  line: WaitQueue,
  task: WaitingTask,
  given: Ticket,
  pulled: TaskMessage | undefined,
): Promise<void> {
  const { queues, lines, clock, puller, registry } = ports;
  const { tier, runsOn, envelope } = task;
  const isBackup = pulled !== undefined;
  const ticket: Ticket = isBackup ? { ...given, isBackup } : given;
  const leftMs = ticket.slotMs === undefined ? 0 : ticket.slotMs - clock.now();
  const delaySeconds = isBackup ? backupSeconds(registry.get(envelope.type)) : Math.max(0, Math.floor(leftMs / 1000));
  if (isBackup) puller?.pull(pulled);
  const message = { tier, runsOn, envelope, delaySeconds, solo: false, redrives: 0, ticket };
  const dequeued = queues.send(message).then(() => lines.remove(line.name, task));
  if (isBackup)
    puller?.dequeues(
      Promise.all([logged(ports, dequeued), pulled.passed && sendSuccessor(ports, task, pulled.passed)]),
    );
  else await dequeued;
}

/** Sends the message of this worker's successor when it is time. Never rejects: without it, tasks go by message. */
async function sendSuccessor(
  { queues, log, puller, clock, newId }: WaitQueuePorts,
  { tier, runsOn }: WaitingTask,
  { line, bucket }: PassedPermit,
): Promise<void> {
  if (!puller?.needsSuccessor(clock.now())) return;
  puller.noteSuccessor(clock.now());
  const check = { line: `places/${bucket}/${line}`, check_id: newId() };
  await queues.sendCheck({ tier, runsOn, check, delaySeconds: 0 }).catch((error: unknown) => {
    log.warn("could not send the message of a worker's successor", { error: String(error) });
  });
}

/** A task that could not leave its line is admitted again, and found at work or at its end. */
const logged = ({ log, puller }: WaitQueuePorts, dequeued: Promise<void>): Promise<void> =>
  dequeued.catch((error: unknown) => {
    log.warn("a task could not leave its line", { error: String(error) });
    puller?.end();
  });

/**
 * The tasks with their messages. An entry whose message is gone is of a wait that is over, which a late try has added
 * again, or whose time to be kept is over: it leaves the line, which it would block.
 */
export async function withEnvelopes(
  { lines, log }: WaitQueuePorts,
  line: WaitQueue,
  tasks: readonly WaitingEntry[],
): Promise<readonly WaitingTask[]> {
  if (tasks.every((task): task is WaitingTask => task.envelope !== undefined)) return tasks;
  const found = await lines.withEnvelopes(line.name, tasks);
  const left = new Set(found.map(({ id }) => id));
  for (const over of tasks.filter(({ id }) => !left.has(id))) {
    const of = { line: line.name, tenant_id: over.tenantId, task_id: over.taskId };
    log.warn("the message of a task in a line is gone; its entry leaves the line", of);
    await lines.remove(line.name, over);
  }
  return found;
}

/** The tickets that a task had when it was put into its line, and those of the line. */
export const ticketOf = ({ slotMs, tryUntilMs }: WaitingEntry, more: Ticket): Ticket => ({
  ...(slotMs !== undefined && { slotMs }),
  ...(tryUntilMs !== undefined && { tryUntilMs }),
  ...more,
});

/**
 * The delay of a backup message, in seconds: the first lease of an attempt that starts now is over then, unless it was
 * renewed.
 */
const backupSeconds = (type: LimitedType | undefined): number =>
  leaseSeconds(type?.timeoutSeconds ?? longestLeaseSeconds) + backupMarginSeconds;

/**
 * Nobody else lets a reserved task go for this time, in milliseconds: its message is sent by then, or its sender died.
 */
const reservedMs = 15_000;

type OwnPorts = Pick<WaitQueuePorts, "lines" | "clock" | "flow" | "newId">;

/**
 * The tasks of a line that this call lets go, up to a number: the first tasks that no other call of this process lets
 * go. In a line with several buckets a process reserves its tasks, at random.
 */
async function ownTasks(
  ports: OwnPorts,
  line: WaitQueue,
  first: readonly WaitingEntry[],
  { max, sizes }: { max: number; sizes: Sizes },
): Promise<WaitingEntry[]> {
  if (bucketCount(sizes) > 1) return reserved(ports, line, first, max);
  const own: WaitingEntry[] = [];
  for (const task of first) if (own.length < max && ports.flow.going.add(task, ports.clock.now())) own.push(task);
  return own;
}

/**
 * Reserves tasks among the first of a line, which nobody else lets go at this moment. At random, the first ones more
 * likely, so that none is passed over for long.
 */
export async function reserved(
  { lines, clock, flow, newId }: OwnPorts,
  line: WaitQueue,
  first: readonly WaitingEntry[],
  max: number,
): Promise<WaitingEntry[]> {
  const salt = newId();
  const own: WaitingEntry[] = [];
  const inOrder = first.map((task, position) => ({ task, at: (position + 4) * chanceOf(salt, task) }));
  for (const { task } of inOrder.sort((a, b) => a.at - b.at)) {
    if (own.length >= max) break;
    const now = clock.now();
    if (!flow.going.add(task, now)) continue;
    if (await lines.reserve(line.name, task, now, now + reservedMs)) own.push(task);
    else flow.going.delete(task);
  }
  return own;
}

/**
 * Leaves tasks to others that this call could not let go.
 * @returns True when another call of this process has passed one of them over: nobody else looks at it now.
 */
export async function leaveToOthers(
  { lines, flow }: OwnPorts,
  line: WaitQueue,
  tasks: readonly WaitingEntry[],
  sizes: Sizes,
): Promise<boolean> {
  let isPassedOver = false;
  for (const task of tasks) {
    if (flow.going.delete(task)) isPassedOver = true;
    if (bucketCount(sizes) > 1) await lines.release(line.name, task);
  }
  return isPassedOver;
}

/**
 * Tasks that this call lets go, with their messages. Where the line does not answer they are left to others, who would
 * pass them over.
 * @throws PortUnavailable
 */
export async function ownMessages(
  ports: WaitQueuePorts,
  line: WaitQueue,
  first: readonly WaitingEntry[],
  wanted: { max: number; sizes: Sizes },
): Promise<readonly WaitingTask[]> {
  const own = await ownTasks(ports, line, first, wanted);
  try {
    return await withEnvelopes(ports, line, own);
  } catch (error) {
    await leaveToOthers(ports, line, own, wanted.sizes);
    throw error;
  }
}

/** From 0 to 1. */
const chanceOf = (salt: string, { taskId }: WaitingEntry): number => numberOf(`${salt} ${taskId}`) / 2 ** 32;
