import type { Identity } from "../core/identity.ts";
import type { Clock } from "../core/ports.ts";
import { Problem } from "../core/problem.ts";

/** How often one caller may ask for one task in a second. */
export const pollsPerSecond = 10;

/** How many pairs of caller and task are watched at once, per process. */
const mostWatched = 10_000;

/**
 * Refuses one caller's polls of one task above ten a second. It counts in this process: a function with many instances lets
 * somewhat more through, which is fine for what protects from loops without a pause.
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
      throw new Problem("rate_limited", `This task was polled more than ${pollsPerSecond} times in a second.`, {
        retryAfterSeconds: 1,
      });
    }
  };
}
