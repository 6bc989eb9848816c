import type { Clock } from "../../core/ports/tasks.ts";

/** The longest wait of a Node timer. A longer one would end immediately. */
const longestTimerMs = 2 ** 31 - 1;

/** The machine's clock. Its timers do not keep the process alive, and call back after 24 days at most. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), longestTimerMs)).unref();
    return () => clearTimeout(timer);
  },
};
