import type { HeldPlace, LineState } from "../../ports/flow.ts";
import type { LinePorts } from "./line-ports.ts";
import { onTheWayUntilMs } from "./place-end.ts";
import { answerOf } from "./sure-write.ts";

/**
 * Passes a place that a task has just got to the successor that waits for a place. A worker does so that has had its
 * share, or that cannot take the task.
 * @returns False: nobody waits. `unknown`: the write had no answer, so the successor may have the place.
 */
export async function yieldPlace(
  { lines, clock, taker }: Pick<LinePorts, "lines" | "clock" | "taker">,
  bucket: string,
  { place, state, isTaken }: { place: HeldPlace; state: LineState; isTaken: boolean },
): Promise<boolean | "unknown"> {
  const { successor } = state;
  const now = clock.now();
  if (successor === undefined || successor.untilMs <= now) return false;
  if (isTaken && !taker?.hadShare(now)) return false;
  const to = { id: successor.id, untilMs: onTheWayUntilMs(now) };
  return (await answerOf(lines.givePlace(bucket, place, to))) ?? "unknown";
}
