import type { Envelope } from "../model/envelope.ts";
import type { Line } from "../model/line.ts";
import type { TaskType } from "../task/task.ts";
import type { TaskMessage } from "../task/task-message.ts";
import { aheadMs, type LinePorts, mostTries } from "./advance.ts";
import { rateOf } from "./limit-lines.ts";

/** A task that comes later than this after its start takes another one, in milliseconds: else all that come late would start together. */
const lateMs = 250;

/** Tasks of a rate with fewer starts than one in this time start when they come, in milliseconds: another start could be far away. */
const longestLateIntervalMs = 1_000;

/** A claimed task waits at most this long for its start, in milliseconds: no start is given away earlier. */
export const longestSlotWaitMs = aheadMs;

/**
 * Takes the next start of a rate, or the one that the line gave. A task behind others, or without a start soon, waits.
 * @returns `stopped`: it waits in the line.
 */
export async function takeStart(
  ports: LinePorts,
  { envelope, grant }: TaskMessage,
  line: Line,
  type: TaskType,
): Promise<{ slotMs?: number } | "stopped"> {
  const given = grant?.slotMs;
  const rate = await rateOf(ports.flow, type);
  if (given !== undefined) {
    const late = ports.clock.now() - given > lateMs;
    const isKept = rate === undefined || !late || rate.intervalMs > longestLateIntervalMs;
    return isKept ? { slotMs: given } : nextStart(ports, line, rate.intervalMs, aheadMs);
  }
  if (rate === undefined) return {};
  if (await isBehind(ports, line, envelope)) return "stopped";
  return nextStart(ports, line, rate.intervalMs, 0);
}

/** Takes the next start that nobody has, unless it is more than `mostMs` away. */
async function nextStart(
  { lines, clock }: LinePorts,
  line: Line,
  intervalMs: number,
  mostMs: number,
): Promise<{ slotMs: number } | "stopped"> {
  for (let tries = 0; tries < mostTries; tries++) {
    const { nextSlotMs } = await lines.state(line.name);
    const now = clock.now();
    const slotMs = Math.max(now, Math.ceil(nextSlotMs ?? now));
    if (slotMs > now + mostMs) return "stopped";
    if (await lines.takeSlots(line.name, nextSlotMs, Math.max(now, nextSlotMs ?? now) + intervalMs)) return { slotMs };
    // Of several that come at the same time one starts, and the others wait in order.
    if (mostMs === 0) return "stopped";
  }
  return "stopped";
}

/** True when a task that was submitted before waits in the line. */
export async function isBehind({ lines }: Pick<LinePorts, "lines">, line: Line, envelope: Envelope): Promise<boolean> {
  const [first] = await lines.first(line.name, 1);
  return first !== undefined && first.createdAt < envelope.enqueued_at && first.envelope.task_id !== envelope.task_id;
}
