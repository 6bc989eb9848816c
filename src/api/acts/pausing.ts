import type { ManageFlowPorts } from "../../core/extras/limits/manage-flow.ts";
import type { Tier } from "../../core/model/words.ts";
import type { Pause } from "../../core/ports/flow.ts";
import type { KnownTypes } from "../../core/task/catalog.ts";

export interface FlowPorts extends ManageFlowPorts {
  /** The types that clients may submit. */
  types: KnownTypes;
}

/**
 * Tier in whose queue the check of a resumed line waits. An operator waits for it, and the backlog of `normal` is often
 * the reason of a pause.
 */
export const checkTier: Tier = "high";

export const pausedSince = (made: Pause | undefined) => ({ paused: made !== undefined, since: made?.since ?? null });

export const pauseText =
  "Accepted tasks wait, in order of submission, and running attempts finish. The answer comes when no worker starts another of these tasks, after " +
  "about three seconds. The request can be repeated.";
export const resumeText =
  "The tasks that wait start within about three seconds, in order of submission: ten a second at first, twice as many every three seconds, and " +
  "a hundred a second at most; of a tier, twice as many every thirty seconds then, up to 2,000. The request can be repeated.";
