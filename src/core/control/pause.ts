import type { Clock } from "../ports/tasks.ts";

/** Waits for `ms` milliseconds of the clock. When the signal fires, throws its reason immediately. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      stop();
      reject(signal.reason);
    };
    const stop = clock.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Returns a function that limits a rate: each call resolves at least 1/`perSecond` seconds after the one before. Unused time is
 * not saved up, so that no second has more than `perSecond` calls.
 * @param perSecond Undefined: no limit.
 */
export function pacer(clock: Clock, perSecond: number | undefined, signal: AbortSignal): () => Promise<void> {
  let nextFreeMs = 0;
  return async () => {
    if (perSecond === undefined) return;
    const now = clock.now();
    const at = Math.max(now, nextFreeMs);
    nextFreeMs = at + Math.ceil(1000 / perSecond);
    if (at > now) await pause(clock, at - now, signal);
  };
}
