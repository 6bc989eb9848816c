import { isOfTier, type Line } from "../../model/line.ts";
import type { LineState, Lines } from "../../ports/flow.ts";

/** Tasks that go in the first second after a pause or a breaker has ended, and the most in any second. */
const [firstTasks, mostTasks] = [10, 100];

/** The number of tasks a second is doubled after this time, in milliseconds. */
const doubleMs = 3_000;

/**
 * After the pause of a tier, more and more tasks go: millions may wait, of all types. That of a type or a tenant has
 * what a failure may cost in mind, and its tasks go on with the most that they reached.
 */
const mostOfTier = 2_000;

/** Then the number is doubled after this time, in milliseconds. */
const laterDoubleMs = 30_000;

/**
 * Notes when a pause or a breaker ended: its tasks start slowly, so that what was down is not flooded. A death before
 * this lets them start at the full speed.
 * @throws PortUnavailable
 */
export async function noteOpened(lines: Lines, line: Line, atMs: number): Promise<void> {
  const { nextSlotMs } = await lines.state(line.name);
  await lines.takeSlots(line.name, nextSlotMs, atMs);
}

/**
 * Tasks that may go in this second: ten at first, twice as many every three seconds, and a hundred at most; of a tier
 * twice as many every thirty seconds then, and two thousand at most.
 */
export function tasksNow(line: Line, { nextSlotMs: openedMs }: LineState, nowMs: number): number {
  if (openedMs === undefined) return mostTasks;
  const sinceMs = Math.max(0, nowMs - openedMs);
  const tasks = Math.min(mostTasks, doubled(firstTasks, sinceMs, doubleMs));
  if (tasks < mostTasks || !isOfTier(line)) return tasks;
  return Math.min(mostOfTier, doubled(mostTasks, sinceMs, laterDoubleMs));
}

const doubled = (tasks: number, sinceMs: number, everyMs: number): number =>
  tasks * 2 ** Math.min(Math.floor(sinceMs / everyMs), 10);
