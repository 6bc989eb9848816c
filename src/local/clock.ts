import type { Clock } from "../core/ports.ts";

/** The longest wait that a Node timer can hold; longer ones would end at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. Its timers do not keep the process alive, and may call back early after more than 24 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), longestTimerMs)).unref();
    return () => clearTimeout(timer);
  },
};
