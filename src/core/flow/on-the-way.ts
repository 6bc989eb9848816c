import type { HeldPlace, Lines } from "../ports/flow.ts";

/** A task that was let go has its place for this time, in seconds, until its worker renews it. Then the place is free again. */
const waySeconds = 60;

/** Tries to take over a place while others change the line. */
const mostTries = 3;

/** The end of the place of a task that is let go now, epoch milliseconds. Only such a place does not end at a whole millisecond. */
export const wayEndMs = (nowMs: number): number => Math.floor(nowMs) + waySeconds * 1000 + 0.5;

const isOnWay = ([, untilMs]: readonly [string, number]): boolean => !Number.isInteger(untilMs);

/**
 * Takes the place of a task that was let go and has not come yet: the last one, which comes latest. In a queue that is behind for longer than a place is
 * kept, each task would find its place given to another one that is on its way, and none would ever start.
 * @throws PortUnavailable
 */
export async function takeOver(lines: Lines, line: string, to: HeldPlace, limit: number): Promise<boolean> {
  const { places } = await lines.state(line);
  const onWay = [...places].filter(isOnWay).sort(([, a], [, b]) => b - a);
  for (const [task, untilMs] of onWay.slice(0, mostTries)) {
    if ((await lines.passPlace(line, { task, untilMs }, to, limit)) !== undefined) return true;
  }
  return false;
}
