import type { Clock } from "../../core/ports/tasks.ts";

/** The longest wait of a Node timer. A longer one would end immediately. */
const longestTimerMs = 2 ** 31 - 1;

const machineClock: Clock = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), longestTimerMs)).unref();
    return () => clearTimeout(timer);
  },
};

/**
 * The server's clock: the machine's, until it is moved (`moved-time.ts`). Its timers do not keep the process alive, and
 * call back after 24 days at most.
 */
export const systemClock: Clock = { ...machineClock };

/** The server's time with timers of the machine's: for rounds that a move of the clock makes itself. */
export const machineTimers: Clock = { now: () => systemClock.now(), after: machineClock.after };
