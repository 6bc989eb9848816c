import type { Tier } from "../core/model/words.ts";
import { ownStrayLine } from "../core/pipeline/work/late-error.ts";
import type { Log, Metrics } from "../core/ports/tasks.ts";

/**
 * Logs and counts an error that no code has caught and that belongs to no attempt, such as one of a connection that a
 * task file opened when it was loaded.
 */
export const reportOwnStray =
  ({ log, metrics }: { log: Log; metrics: Metrics }, tier: Tier) =>
  (error: unknown): void => {
    metrics.add("stray_errors", 1, { tier, type: "none" });
    log.error(ownStrayLine, {
      error: error instanceof Error ? error : String(error),
      ...(error instanceof Error && error.stack !== undefined && { stack: error.stack }),
    });
  };
