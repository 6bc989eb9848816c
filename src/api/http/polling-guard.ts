import { Problem } from "../../core/model/problem.ts";
import type { Identity } from "../../core/model/words.ts";
import type { Clock } from "../../core/ports/tasks.ts";

/** Maximum number of polls per second of one caller for one task. */
export const pollsPerSecond = 10;

/** Maximum number of pairs of caller and task that a process counts. */
const mostWatched = 10_000;

/**
 * Creates a guard that refuses more than ten polls per second of one caller for one task. It counts in this process
 * only, so a function with many instances accepts more. That is enough, as the guard is for clients that poll without a
 * pause.
 */
export function createPollingGuard(clock: Clock): (identity: Identity, taskId: string) => void {
  const windows = new Map<string, { second: number; polls: number }>();
  return (identity, taskId) => {
    const key = JSON.stringify([identity.tenantId, identity.principal, taskId]);
    const second = Math.floor(clock.now() / 1000);
    let window = windows.get(key);
    if (window?.second !== second) {
      if (windows.size >= mostWatched) windows.clear();
      window = { second, polls: 0 };
      windows.set(key, window);
    }
    window.polls += 1;
    if (window.polls > pollsPerSecond) {
      throw new Problem("rate_limited", `You may poll this task at most ${pollsPerSecond} times per second.`, {
        retryAfterSeconds: 1,
      });
    }
  };
}
