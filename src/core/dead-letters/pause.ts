import type { Clock } from "../ports.ts";

/** Waits by the clock; when the signal fires, throws its reason at once. */
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
 * Spaces what would come faster: each call resolves no earlier than its share of a second after the one before. Time that
 * was lost is not made up for, so no second ever sees more than `perSecond`.
 * @param perSecond Undefined: no limit.
 */
export function pacer(clock: Clock, perSecond: number | undefined, signal: AbortSignal): () => Promise<void> {
  let free = 0;
  return async () => {
    if (perSecond === undefined) return;
    const now = clock.now();
    const at = Math.max(now, free);
    free = at + Math.ceil(1000 / perSecond);
    if (at > now) await pause(clock, at - now, signal);
  };
}
