import type { Envelope } from "../../model/envelope.ts";
import { PortUnavailable } from "../../model/errors.ts";
import type { Line } from "../../model/line.ts";
import type { TaskType } from "../../task/task.ts";
import type { TaskMessage } from "../../task/task-message.ts";
import { startsOf } from "./joined-starts.ts";
import { type Pace, paceOf, slowMs } from "./limit-lines.ts";
import { aheadMs, type LinePorts } from "./line-ports.ts";
import { shardFor } from "./shards.ts";

/**
 * A task that never waited takes a start that is at most this far away, in milliseconds, and its worker waits for it:
 * cheaper than a line. Tasks that come together, at a rate that is not reached, so start without one. Longer than the
 * delay of a line's first check, in which a rate that is reached would have no start.
 */
const shortWaitMs = 1_200;

/** A task takes another start this often, if the answers come too late. */
const mostTries = 3;

/**
 * Takes the next start of a rate, or the start that the line gave. A task behind others, or without a start soon,
 * waits.
 * @returns `stopped`: it waits in the line.
 */
export async function takeStart(
  ports: LinePorts,
  { envelope, grant }: TaskMessage,
  line: Line,
  type: TaskType,
): Promise<{ slotMs?: number } | "stopped"> {
  const { clock } = ports;
  const pace = await paceOf(ports, type, line);
  if (pace === undefined) return {};
  const given = grant?.slotMs;
  const now = clock.now();
  if (given !== undefined && now - given <= pace.lateMs) return { slotMs: given };
  if (given === undefined && (await isBehind(ports, line, envelope))) return "stopped";
  const moves = given !== undefined && pace.intervalMs >= slowMs;
  if (moves && (await moveStart(ports.lines, line, pace, { given, now }))) return { slotMs: now };
  const slotMs = await nextStart(ports, line, pace, given === undefined ? shortWaitMs : aheadMs);
  return slotMs === undefined ? "stopped" : { slotMs };
}

/**
 * Waits for the start of a claimed task: a message arrives up to a second before it. The others of its batch may have
 * kept it for longer than a start may be late: then it takes the next start.
 * @returns False: the next start is far away.
 */
export async function untilStart(
  ports: LinePorts,
  { type }: TaskMessage,
  line: Line,
  slotMs: number,
): Promise<boolean> {
  const { clock } = ports;
  const pace = await paceOf(ports, type, line);
  const isLate = pace !== undefined && clock.now() - slotMs > pace.lateMs;
  const startMs = isLate ? await nextStart(ports, line, pace, aheadMs) : slotMs;
  if (startMs === undefined) return false;
  const leftMs = startMs - clock.now();
  // No start is given away earlier.
  if (leftMs > 0) await new Promise<void>((resolve) => clock.after(Math.min(leftMs, aheadMs), resolve));
  return true;
}

/** Takes the next start if it is near. The answer of a throttled line may come later than a start may be late. */
async function nextStart(ports: LinePorts, line: Line, pace: Pace, mostMs: number): Promise<number | undefined> {
  const { clock } = ports;
  const { lateMs } = pace;
  for (let tries = 0; tries < mostTries; tries++) {
    const slotMs = await takeNear(ports, line, pace, mostMs);
    if (slotMs === undefined) return undefined;
    if (clock.now() - slotMs <= lateMs) return Math.ceil(slotMs);
  }
  return undefined;
}

/**
 * Takes the next start if it is near. Asks for none that this process knows to be far: at a rate that is reached, each
 * question would be a write. An operator may have set a higher rate since, which leaves no start behind `latestMs`.
 * @param mostMs The start is at most so far away, in milliseconds.
 */
export async function takeNear(
  { flow, lines, clock }: LinePorts,
  { name }: Line,
  { intervalMs, list }: Pace,
  mostMs: number,
): Promise<number | undefined> {
  const nowMs = clock.now();
  const known = flow.lines.nextStartOf(name) ?? 0;
  const latestMs = nowMs + aheadMs + intervalMs;
  if (known > nowMs + mostMs && known <= latestMs) return undefined;
  const want = { nowMs, intervalMs, aheadMs: mostMs, knownMs: known };
  const slotMs = await startsOf(flow)
    .take({ lines: list?.over(lines) ?? lines, clock }, name, want)
    .catch(unlessThrottled);
  // The task that gets none waits in the line, and those that come next would wait behind it.
  flow.lines.noteNextStart(name, slotMs === undefined ? nowMs + mostMs + shortWaitMs : slotMs + intervalMs);
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
function moveStart(
  lines: LinePorts["lines"],
  { name }: Line,
  { intervalMs, list }: Pace,
  { given, now }: { given: number; now: number },
): Promise<boolean> {
  const seenMs = given + intervalMs;
  return list?.move(lines, name, { seenMs, toMs: now }) ?? lines.takeSlots(name, seenMs, now + intervalMs);
}

/** True when a task that was submitted before waits in the line, or in the task's own shard of it. */
export async function isBehind(ports: LinePorts, line: Line, envelope: Envelope): Promise<boolean> {
  const { shard = 0 } = await shardFor(ports, line, envelope.task_id);
  const [first] = await ports.lines.first(line.name, 1, [shard]);
  return first !== undefined && first.createdAt < envelope.enqueued_at && first.taskId !== envelope.task_id;
}
