import type { HeldPlace, Lines } from "../ports/flow.ts";
import { placeStateOf } from "./place-end.ts";

/** Tries to take over a place while others change the line. */
const mostTries = 3;

/**
 * Takes the place of a task that was let go and has not come yet: the last one, which comes latest. In a queue that is
 * behind for longer than a place is kept, each task would find its place given to another task that is on its way, and
 * none would ever start.
 * @throws PortUnavailable
 */
export async function takeOver(lines: Lines, line: string, to: HeldPlace, limit: number): Promise<boolean> {
  const { places } = await lines.state(line);
  const onWay = [...places].filter(([, untilMs]) => placeStateOf(untilMs) === "onTheWay").sort(([, a], [, b]) => b - a);
  for (const [task, untilMs] of onWay.slice(0, mostTries)) {
    if ((await lines.passPlace(line, { task, untilMs }, to, limit)) !== undefined) return true;
  }
  return false;
}
