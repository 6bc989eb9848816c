import { Worker } from "node:worker_threads";
import type { Clock, Watchdog } from "../core/ports.ts";

/** The system's clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Looks at the shared deadline and kills the process once it has passed. Runs in a thread of its own, as the main one may be blocked. */
const watcher = `
const { workerData } = require("node:worker_threads");
const deadline = new BigInt64Array(workerData);
for (;;) {
  const until = Atomics.load(deadline, 0);
  if (until !== 0n && BigInt(Date.now()) > until) process.kill(process.pid, "SIGKILL");
  Atomics.wait(deadline, 0, until, 500);
}`;

/**
 * A watchdog that kills this process when its event loop was blocked past an attempt's end. The thread starts with the
 * first attempt.
 */
export function threadWatchdog(): Watchdog {
  const shared = new SharedArrayBuffer(8);
  const deadline = new BigInt64Array(shared);
  const guards = new Set<{ untilMs: number }>();
  let thread: Worker | undefined;
  const publish = () => {
    const nearest = Math.min(...[...guards].map((guard) => guard.untilMs));
    Atomics.store(deadline, 0, guards.size === 0 ? 0n : BigInt(Math.ceil(nearest)));
  };
  return {
    guard(untilMs) {
      if (thread === undefined) {
        thread = new Worker(watcher, { eval: true, workerData: shared });
        thread.unref();
      }
      const guard = { untilMs };
      guards.add(guard);
      publish();
      return () => {
        guards.delete(guard);
        publish();
      };
    },
  };
}
