import { inLanes } from "../../../util/in-lanes.ts";
import { permitIn } from "../../model/envelope.ts";
import type { WaitQueue } from "../../model/wait-queue.ts";
import type { Tier } from "../../model/words.ts";
import type { TaskPermit, WaitingEntry, WaitingTask, WaitQueueState } from "../../ports/flow.ts";
import { strictOf } from "../../task/type-limits.ts";
import { admitWaiters, longestDelayMs } from "./admit-waiters.ts";
import { endOfLimit, permitsOf } from "./limit-lines.ts";
import { keptUntilMs, onTheWayUntilMs } from "./place-book.ts";
import { leaveToOthers, ownMessages, sendOne, ticketOf } from "./send-all.ts";
import { bucketCount, bucketName, bucketOf, markSharded, type Sizes, unmark } from "./shards.ts";
import { answerOf, hasPermit, orWarn, sureWrite } from "./sure-write.ts";
import {
  type LookContext,
  maxIntervalMs,
  plan,
  planSooner,
  type Rest,
  sendCheck,
  soonMs,
  stands,
  type WaitQueuePorts,
  watchLine,
} from "./wait-queue-ports.ts";

/** Further checks that are sent at the same time. */
const lanes = 10;

/**
 * Goes on with a line, and makes sure that a message checks it again while tasks wait. That message is sent before the
 * line notes it, so that no death leaves a line without one. Of several messages only the noted one is followed by
 * another, so that they do not multiply.
 * @throws PortUnavailable
 */
export async function advance(ports: WaitQueuePorts, line: WaitQueue, known: LookContext): Promise<void> {
  await ports.puller?.dequeued;
  if (!(await looksJointly(ports, line, known))) {
    await advanceNow(ports, line, known);
    return;
  }
  for (;;) {
    const rest = await ports.flow.looks.read(line.name, () => advanceNow(ports, line, known));
    // Each look admits one task, which its worker takes.
    if (!rest.hasRoom || !ports.puller?.isFree) return;
  }
}

/** True for a task that has joined a line of one bucket: others join it together with it, and one look serves all. */
async function looksJointly(
  { flow, lines, registry, bucketSize: size }: WaitQueuePorts,
  line: WaitQueue,
  { added }: LookContext,
): Promise<boolean> {
  if (added === undefined || added.shard !== undefined || line.kind !== "concurrency") return false;
  const limit = await permitsOf({ flow, lines }, registry.get(line.type ?? ""), line);
  return limit !== undefined && bucketCount({ limit, size }) === 1;
}

async function advanceNow(ports: WaitQueuePorts, line: WaitQueue, known: LookContext): Promise<Rest> {
  const { lines, clock } = ports;
  const { tier, checkId, changed, added } = known;
  const marked = added?.shard === undefined ? undefined : await markSharded(ports, line, added);
  const rest = await admitOrEnd(ports, line, known);
  if (rest.nextMs === undefined) return rest;
  const seen = rest.state ?? (changed?.index === 0 ? changed.state : undefined) ?? marked;
  const { check: planned, sharded } = seen ?? (await lines.state(line.name));
  const now = clock.now();
  if (checkId !== undefined && planned?.id === checkId) watchLine(ports, line, rest);
  const dueMs = now + (line.kind === "pause" ? longestDelayMs : maxIntervalMs);
  // More tasks may start then.
  const latestMs = Math.min(dueMs, endOfLimit(ports.flow, line) ?? dueMs);
  const atMs = Math.min(Math.max(rest.nextMs, now + soonMs), latestMs);
  if (planned?.id !== checkId && stands(ports, planned) && planned.atMs <= atMs + soonMs) return rest;
  const at = { tier, atMs, ...((marked ?? sharded) && { sharded: true as const }) };
  const isPlanned = await plan(ports, line, at, planned);
  if (isPlanned && rest.furtherMs !== undefined) await sendFurther(ports, line, tier, rest.furtherMs);
  return rest;
}

/** Lets tasks go. A check that finds none ends the checks, and looks once more. */
async function admitOrEnd(ports: WaitQueuePorts, line: WaitQueue, known: LookContext): Promise<Rest> {
  const { lines, flow } = ports;
  const { tier, checkId } = known;
  const rest = await admitWaiters(ports, line, known);
  if (!rest.empty || checkId === undefined) return rest;
  // A submit that adds a task after this finds no plan, and a task that was added before is seen now.
  await lines.endChecks(line.name, checkId);
  if (flow.lines.isSharded(line.name)) await unmark(ports, line);
  return admitWaiters(ports, line, { tier });
}

/** Sends what lets a line keep its pace in a tier that is behind. Without it, the noted check goes on with the line. */
function sendFurther(ports: WaitQueuePorts, line: WaitQueue, tier: Tier, furtherMs: readonly number[]): Promise<void> {
  const sent = inLanes(furtherMs, lanes, (atMs) => sendCheck(ports, line, { tier, atMs, id: ports.newId() }));
  return orWarn(ports.log, "could not send further checks of a line", sent);
}

/** A task's permit, in a bucket of its line. */
export interface BucketPermit extends TaskPermit {
  /** The bucket's index. */
  bucket: number;
}

/**
 * Passes a task's permit to the next task by one write, and sends its message; gives it back when there is none.
 * @param tier Tier in whose queue a check of the line waits.
 * @param next The line's first tasks. Absent: they were not read.
 * @returns False when the task has no such permit.
 * @throws PortUnavailable
 */
export async function handOver(
  ports: WaitQueuePorts,
  line: WaitQueue,
  permit: BucketPermit,
  { tier, next = [] }: { tier: Tier; next?: readonly WaitingEntry[] | undefined },
): Promise<boolean> {
  const type = line.type === undefined ? undefined : ports.registry.get(line.type);
  await ports.puller?.dequeued;
  const limit = await permitsOf(ports, type, line);
  if (type === undefined || limit === undefined) return giveBack(ports, line, permit, tier);
  const sizes = { limit, size: ports.bucketSize };
  const { index, name, room } = bucketOf(line, permit.bucket, sizes);
  const own = room === 0 ? undefined : await nextToGo(ports, line, next, sizes);
  if (own === undefined) return giveBack(ports, line, permit, tier);
  const ticket = ticketOf(own, permitIn(index));
  const message = ports.puller?.messageFor(own, ticket);
  const now = ports.clock.now();
  // The task that this worker takes keeps its permit with the same write.
  const untilMs = message === undefined ? onTheWayUntilMs(now) : keptUntilMs(now, type);
  const to: TaskPermit = { task: own.taskId, untilMs, turn: strictOf(type) !== undefined };
  const state = await passOn(ports, name, { from: permit, to, room });
  // Another call has just let this task go, the limit is lower now, or a second message has kept the permit.
  if (state === undefined) return keepNext(ports, line, permit, { tier, own, sizes });
  const yielded = await yieldPermit(ports, name, { permit: to, state, isPulled: message !== undefined });
  if (yielded !== false) {
    await leaveToOthers(ports, line, [own], sizes);
    if (yielded === "unknown") await giveBack(ports, line, { ...to, bucket: index }, tier);
    return true;
  }
  if (index === 0) ports.flow.lines.noteSharded(line.name, state.sharded === true);
  // The line's own state alone tells of its check.
  const isChecked = index > 0 || stands(ports, state.check);
  await planSooner(ports, line, { tier, atMs: untilMs + soonMs }, state.check);
  const pulled = message && { ...message, passed: { line: line.name, bucket: index, untilMs } };
  await sendOne(ports, line, own, ticket, pulled);
  if (state.permits.size < room || !isChecked) await advance(ports, line, { tier, changed: { index, state } });
  return true;
}

/**
 * Passes a permit that a task has just got to the successor that waits for a permit. A worker does so that has had its
 * share, or that cannot take the task.
 * @returns False: nobody waits. `unknown`: the write had no answer, so the successor may have the permit.
 */
export async function yieldPermit(
  { lines, clock, puller }: Pick<WaitQueuePorts, "lines" | "clock" | "puller">,
  bucket: string,
  { permit, state, isPulled }: { permit: TaskPermit; state: WaitQueueState; isPulled: boolean },
): Promise<boolean | "unknown"> {
  const { successor } = state;
  const now = clock.now();
  if (successor === undefined || successor.untilMs <= now) return false;
  if (isPulled && !puller?.hadShare(now)) return false;
  const to = { id: successor.id, untilMs: onTheWayUntilMs(now) };
  return (await answerOf(lines.givePermit(bucket, permit, to))) ?? "unknown";
}

/** The next task, with its message. Undefined: there is none, or the line does not answer. */
async function nextToGo(
  ports: WaitQueuePorts,
  line: WaitQueue,
  first: readonly WaitingEntry[],
  sizes: Sizes,
): Promise<WaitingTask | undefined> {
  return (await answerOf(ownMessages(ports, line, first, { max: 1, sizes })))?.[0];
}

/** Returns a permit that could not be passed on to the next task, which waits on. */
async function keepNext(
  ports: WaitQueuePorts,
  line: WaitQueue,
  permit: BucketPermit,
  { tier, own, sizes }: { tier: Tier; own: WaitingTask; sizes: Sizes },
): Promise<boolean> {
  const isPassedOver = await leaveToOthers(ports, line, [own], sizes);
  if (await giveBack(ports, line, permit, tier)) return true;
  if (isPassedOver) await advance(ports, line, { tier });
  return false;
}

/** Passes a permit on. Undefined: the task keeps it. */
async function passOn(
  { lines }: WaitQueuePorts,
  bucket: string,
  { from, to, room }: { from: TaskPermit; to: TaskPermit; room: number },
): Promise<WaitQueueState | undefined> {
  const isPassed = hasPermit([to.task], to.untilMs);
  return answerOf(sureWrite(lines, bucket, lines.passPermit(bucket, from, to, room), isPassed));
}

async function giveBack(ports: WaitQueuePorts, line: WaitQueue, permit: BucketPermit, tier: Tier): Promise<boolean> {
  const { bucket: index, task, untilMs } = permit;
  const name = bucketName(line, index);
  const isFree = ({ permits }: WaitQueueState) => !permits.has(task);
  const state = await sureWrite(ports.lines, name, ports.lines.releasePermit(name, task, untilMs), isFree);
  if (state !== undefined) await advance(ports, line, { tier, changed: { index, state } });
  return state !== undefined;
}
