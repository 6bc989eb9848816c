import type { Clock } from "../../core/ports/tasks.ts";
import { serverNow } from "../time/moved-time.ts";

/** Time between two looks at the clock, in milliseconds. */
const lookMs = 100;

/** The event loop of a process that stands still for longer than this, in milliseconds, was stopped by a debugger. */
const stopMs = 1_000;

/**
 * A clock for a process with a debugger. Its timers wait while the debugger has stopped the process, so that no attempt
 * times out at a breakpoint.
 */
export function debugClock(): Clock {
  let stoppedMs = 0;
  let lookedAt = Date.now();
  /** Epoch milliseconds without the time in which the process was stopped. */
  const runningMs = () => {
    const now = Date.now();
    if (now - lookedAt > stopMs) stoppedMs += now - lookedAt;
    lookedAt = now;
    return now - stoppedMs;
  };
  setInterval(runningMs, lookMs).unref();
  return {
    now: serverNow,
    after: (delayMs, callback) => {
      const dueMs = runningMs() + delayMs;
      let timer: NodeJS.Timeout;
      const wait = (ms: number) => {
        timer = setTimeout(() => {
          const leftMs = dueMs - runningMs();
          if (leftMs > 0) wait(leftMs);
          else callback();
        }, ms);
      };
      wait(delayMs);
      return () => clearTimeout(timer);
    },
  };
}
