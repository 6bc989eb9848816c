import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import type { WaitQueue } from "../../model/wait-queue.ts";
import type { TaskPermit, WaitQueues } from "../../ports/flow.ts";
import type { TaskMessage } from "../../task/puller.ts";
import type { TaskType } from "../../task/task.ts";
import { type Pace, paceOf, permitsOf, slowMs } from "./limit-lines.ts";
import { keptAfterMs, keptUntilMs, permitStateOf, takenUntilMs } from "./place-book.ts";
import { startsOf } from "./rate-list.ts";
import { type Bucket, bucketCount, bucketOf, bucketsFor, type Sizes, shardFor } from "./shards.ts";
import { hasPermit, keepSeen, sureWrite } from "./sure-write.ts";
import { aheadMs, type WaitQueuePorts } from "./wait-queue-ports.ts";

/**
 * A task that never waited takes a start that is at most this far away, in milliseconds, and its worker waits for it:
 * cheaper than a line. Tasks that come together, at a rate that is not reached, so start without one. Longer than the
 * delay of a line's first check, in which a rate that is reached would have no start.
 */
const shortWaitMs = 1_200;

/** A task takes another start this often, if the answers come too late. */
const maxTries = 3;

/**
 * Takes the next start of a rate, or the start that the line gave. A task behind others, or without a start soon,
 * waits.
 * @returns `stopped`: it waits in the line.
 */
export async function acquireToken(
  ports: WaitQueuePorts,
  { envelope, ticket }: TaskMessage,
  line: WaitQueue,
  type: TaskType,
): Promise<{ slotMs?: number } | "stopped"> {
  const { clock } = ports;
  const pace = await paceOf(ports, type, line);
  if (pace === undefined) return {};
  const given = ticket?.slotMs;
  const now = clock.now();
  if (given !== undefined && now - given <= pace.lateMs) return { slotMs: given };
  if (given === undefined && (await isBehind(ports, line, envelope))) return "stopped";
  const moves = given !== undefined && pace.intervalMs >= slowMs;
  if (moves && (await moveToken(ports.lines, line, pace, { given, now }))) return { slotMs: now };
  const slotMs = await nextToken(ports, line, pace, given === undefined ? shortWaitMs : aheadMs);
  return slotMs === undefined ? "stopped" : { slotMs };
}

/**
 * Waits for the start of a claimed task: a message arrives up to a second before it. The others of its batch may have
 * kept it for longer than a start may be late: then it takes the next start.
 * @returns False: the next start is far away.
 */
export async function untilStart(
  ports: WaitQueuePorts,
  { type }: TaskMessage,
  line: WaitQueue,
  slotMs: number,
): Promise<boolean> {
  const { clock } = ports;
  const pace = await paceOf(ports, type, line);
  const isLate = pace !== undefined && clock.now() - slotMs > pace.lateMs;
  const startMs = isLate ? await nextToken(ports, line, pace, aheadMs) : slotMs;
  if (startMs === undefined) return false;
  const leftMs = startMs - clock.now();
  // No start is given away earlier.
  if (leftMs > 0) await new Promise<void>((resolve) => clock.after(Math.min(leftMs, aheadMs), resolve));
  return true;
}

/** Takes the next start if it is near. The answer of a throttled line may come later than a start may be late. */
async function nextToken(
  ports: WaitQueuePorts,
  line: WaitQueue,
  pace: Pace,
  maxMs: number,
): Promise<number | undefined> {
  const { clock } = ports;
  const { lateMs } = pace;
  for (let tries = 0; tries < maxTries; tries++) {
    const slotMs = await acquireNear(ports, line, pace, maxMs);
    if (slotMs === undefined) return undefined;
    if (clock.now() - slotMs <= lateMs) return Math.ceil(slotMs);
  }
  return undefined;
}

/**
 * Takes the next start if it is near. Asks for none that this process knows to be far: at a rate that is reached, each
 * question would be a write. An operator may have set a higher rate since, which leaves no start behind `latestMs`.
 * @param maxMs The start is at most so far away, in milliseconds.
 */
export async function acquireNear(
  { flow, lines, clock }: WaitQueuePorts,
  { name }: WaitQueue,
  { intervalMs, list }: Pace,
  maxMs: number,
): Promise<number | undefined> {
  const nowMs = clock.now();
  const known = flow.lines.nextTokenOf(name) ?? 0;
  const latestMs = nowMs + aheadMs + intervalMs;
  if (known > nowMs + maxMs && known <= latestMs) return undefined;
  const want = { nowMs, intervalMs, aheadMs: maxMs, knownMs: known };
  const slotMs = await startsOf(flow)
    .take({ lines: list?.over(lines) ?? lines, clock }, name, want)
    .catch(unlessThrottled);
  // The task that gets none waits in the line, and those that come next would wait behind it.
  flow.lines.noteNextToken(name, slotMs === undefined ? nowMs + maxMs + shortWaitMs : slotMs + intervalMs);
  return slotMs;
}

/** A line that many ask for starts may be throttled: who gets no answer waits in it, in another partition. */
function unlessThrottled(error: unknown): undefined {
  if (!(error instanceof PortUnavailable)) throw error;
}

/**
 * Moves the start of a late task of a slow rate to now, unless a later one was given away since: the next one is far
 * away.
 */
function moveToken(
  lines: WaitQueuePorts["lines"],
  { name }: WaitQueue,
  { intervalMs, list }: Pace,
  { given, now }: { given: number; now: number },
): Promise<boolean> {
  const seenMs = given + intervalMs;
  return list?.move(lines, name, { seenMs, toMs: now }) ?? lines.acquireTokens(name, seenMs, now + intervalMs);
}

/** True when a task that was submitted before waits in the line, or in the task's own shard of it. */
export async function isBehind(ports: WaitQueuePorts, line: WaitQueue, envelope: Envelope): Promise<boolean> {
  const { shard = 0 } = await shardFor(ports, line, envelope.task_id);
  const [first] = await ports.lines.first(line.name, 1, [shard]);
  return first !== undefined && first.createdAt < envelope.enqueued_at && first.taskId !== envelope.task_id;
}

/** A task's permit in a line. */
export interface AcquiredPermit {
  line: WaitQueue;
  /** The bucket of the line's permits that has it. */
  bucket: number;
  /** Epoch milliseconds. */
  untilMs: number;
  /** True when the task had the permit before: another message of it may need it. */
  kept?: boolean;
  /** True for the turn of a line in strict order, which the task has until it is over. */
  turn?: boolean;
}

/**
 * A task whose permit was passed on no longer than this ago keeps it without a write, in milliseconds: a permit
 * outlasts the lease of its attempt by little.
 */
export const justNowMs = 1_000;

/**
 * Acquires a permit. A task that has a permit keeps it: it was admitted, or this is a second message of it.
 * @returns Undefined: there is no permit.
 * @throws PortUnavailable
 */
export async function acquirePermit(
  ports: WaitQueuePorts,
  message: TaskMessage,
  line: WaitQueue,
  type: TaskType,
): Promise<AcquiredPermit | undefined> {
  const { clock, flow, lines } = ports;
  const { envelope, ticket, passed } = message;
  const task = envelope.task_id;
  const now = clock.now();
  const untilMs = takenUntilMs(now, type);
  if (passed?.line === line.name && passed.untilMs > keptUntilMs(now - justNowMs, type))
    return { line, bucket: passed.bucket, untilMs: passed.untilMs, kept: true };
  const keepIn = async ({ name, index }: Bucket, seenMs?: number): Promise<AcquiredPermit | undefined> => {
    const kept = await keepSeen(lines, name, { task, untilMs: seenMs }, (endMs) => keptAfterMs(endMs, now, type));
    return kept === undefined ? undefined : { line, bucket: index, untilMs: kept, kept: true };
  };
  const sizes: Sizes = { limit: (await permitsOf({ flow, lines }, type, line)) ?? 1, size: ports.bucketSize };
  const given = ticket?.hasPermit ? bucketOf(line, ticket.bucket ?? 0, sizes) : undefined;
  const held = given && (await keepIn(given));
  if (held !== undefined) return held;
  const free = !(await isBehind(ports, line, envelope));
  const asked = given === undefined ? await bucketsAsked(ports, line, task, sizes) : [given];
  const taken = free ? await acquireOneOf(lines, asked, { task, untilMs }) : undefined;
  if (taken !== undefined) return { line, bucket: taken, untilMs };
  if (given && (await takeOver(lines, given, { task, untilMs }))) return { line, bucket: given.index, untilMs };
  const own = asked[0] as Bucket;
  // A look, which the tasks of a batch share: hardly any of them has a permit, and a refused write costs more.
  const seenMs = (await lines.state(own.name)).permits.get(task);
  return seenMs === undefined ? undefined : keepIn(own, seenMs);
}

/** Acquires a permit in the first of these buckets that has one. @returns The bucket's index. */
async function acquireOneOf(
  lines: WaitQueues,
  buckets: readonly Bucket[],
  { task, untilMs }: TaskPermit,
): Promise<number | undefined> {
  for (const { name, index, room } of buckets) {
    const taking = lines.acquirePermits(name, [task], untilMs, room);
    if (await sureWrite(lines, name, taking, hasPermit([task], untilMs))) return index;
  }
  return undefined;
}

/**
 * The buckets that a task asks. A process asks others than the first one only when it has seen that this has no more
 * than its share: an earlier release puts all permits of a line there.
 */
async function bucketsAsked(
  { flow, lines }: WaitQueuePorts,
  line: WaitQueue,
  task: string,
  sizes: Sizes,
): Promise<readonly Bucket[]> {
  const asked = bucketsFor(line, task, sizes);
  if (bucketCount(sizes) === 1 || flow.lines.isSpread(line.name)) return asked;
  const own = bucketOf(line, 0, sizes);
  if ((await lines.state(own.name)).permits.size > own.room) return [own];
  flow.lines.noteSpread(line.name);
  return asked;
}

/** Tries to take over a permit while others change the line. */
const maxOnWay = 3;

/**
 * Acquires the permit of a task that was admitted and has not come yet: the last one, which comes latest. In a queue
 * that is behind for longer than a permit is kept, each task would find its permit given to another task that is on its
 * way, and none would ever start.
 * @throws PortUnavailable
 */
async function takeOver(lines: WaitQueues, { name, room }: Bucket, to: TaskPermit): Promise<boolean> {
  const { permits } = await lines.state(name);
  const onWay = [...permits]
    .filter(([, untilMs]) => permitStateOf(untilMs) === "onTheWay")
    .sort(([, a], [, b]) => b - a);
  for (const [task, untilMs] of onWay.slice(0, maxOnWay)) {
    const passing = lines.passPermit(name, { task, untilMs }, to, room);
    if (await sureWrite(lines, name, passing, hasPermit([to.task], to.untilMs))) return true;
  }
  return false;
}
