import type { Line } from "../model/line.ts";
import type { Lines } from "../ports/flow.ts";

/** Tasks that go in the first second after a pause or a breaker has ended, and the most in any second. */
const [firstTasks, mostTasks] = [10, 100];

/** The number of tasks a second is doubled after this time, in milliseconds. */
const doubleMs = 3_000;

/**
 * Notes when a pause or a breaker ended: its tasks start slowly, so that what was down is not flooded. A death before
 * this lets them start at the full speed.
 * @throws PortUnavailable
 */
export async function noteOpened(lines: Lines, line: Line, atMs: number): Promise<void> {
  const { nextSlotMs } = await lines.state(line.name);
  await lines.takeSlots(line.name, nextSlotMs, atMs);
}

/** Tasks that may go in this second: ten at first, twice as many every three seconds, and a hundred at most. */
export async function tasksNow(lines: Lines, line: Line, nowMs: number): Promise<number> {
  const { nextSlotMs: openedMs } = await lines.state(line.name);
  if (openedMs === undefined) return mostTasks;
  const doublings = Math.floor(Math.max(0, nowMs - openedMs) / doubleMs);
  return Math.min(mostTasks, firstTasks * 2 ** Math.min(doublings, 10));
}
