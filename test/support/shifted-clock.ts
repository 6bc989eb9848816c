import type { Clock } from "../../src/core/ports/tasks.ts";

/** Time that a test adds. */
export const shifted = { byMs: 0 };

const startMs = Date.now();
const now = () => startMs + shifted.byMs;

/** A clock that stands still but for timers and what a test adds. */
export const clock: Clock = {
  now,
  after: (delayMs, callback) => {
    const dueMs = now() + delayMs;
    const timer = setTimeout(() => {
      shifted.byMs += Math.max(0, dueMs - now());
      callback();
    }, delayMs);
    return () => clearTimeout(timer);
  },
};
