import type { Envelope } from "../model/envelope.ts";
import type { Line } from "../model/line.ts";
import type { TaskType } from "../task/task.ts";
import type { TaskMessage } from "../task/task-message.ts";
import { paceOf, slowMs } from "./limit-lines.ts";
import { aheadMs, type LinePorts } from "./line-ports.ts";

/**
 * A task that never waited takes a start that is at most this far away, in milliseconds, and its worker waits for it:
 * cheaper than a line. Tasks that come together, at a rate that is not reached, so start without one.
 */
const shortWaitMs = 500;

/** A claimed task waits at most this long for its start, in milliseconds: no start is given away earlier. */
export const longestSlotWaitMs = aheadMs;

/**
 * Takes the next start of a rate, or the start that the line gave. A task behind others, or without a start soon,
 * waits.
 * @returns `stopped`: it waits in the line.
 */
export async function takeStart(
  { clock, flow, lines }: LinePorts,
  { envelope, grant }: TaskMessage,
  line: Line,
  type: TaskType,
): Promise<{ slotMs?: number } | "stopped"> {
  const pace = await paceOf(flow, type);
  if (pace === undefined) return {};
  const given = grant?.slotMs;
  const now = clock.now();
  if (given !== undefined && now - given <= pace.lateMs) return { slotMs: given };
  if (given === undefined && (await isBehind({ lines }, line, envelope))) return "stopped";
  if (given !== undefined && (await movesStart(lines, line, { given, now, intervalMs: pace.intervalMs })))
    return { slotMs: now };
  const mostMs = given === undefined ? shortWaitMs : aheadMs;
  const slotMs = await lines.takeSlot(line.name, { nowMs: now, intervalMs: pace.intervalMs, aheadMs: mostMs });
  return slotMs === undefined ? "stopped" : { slotMs: Math.ceil(slotMs) };
}

/**
 * Moves the start of a late task of a slow rate to now, unless a later one was given away since: the next one is far
 * away.
 */
const movesStart = (
  lines: LinePorts["lines"],
  line: Line,
  { given, now, intervalMs }: { given: number; now: number; intervalMs: number },
): Promise<boolean> =>
  intervalMs < slowMs ? Promise.resolve(false) : lines.takeSlots(line.name, given + intervalMs, now + intervalMs);

/** True when a task that was submitted before waits in the line. */
export async function isBehind({ lines }: Pick<LinePorts, "lines">, line: Line, envelope: Envelope): Promise<boolean> {
  const [first] = await lines.first(line.name, 1);
  return first !== undefined && first.createdAt < envelope.enqueued_at && first.taskId !== envelope.task_id;
}
