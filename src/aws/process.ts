import { Worker } from "node:worker_threads";
import type { Clock, Watchdog } from "../core/ports/tasks.ts";

/** The system's clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Kills the process when the shared deadline has passed. It runs in its own thread, as the main thread may be blocked. */
const watcher = `
const { workerData } = require("node:worker_threads");
const deadline = new BigInt64Array(workerData);
for (;;) {
  const until = Atomics.load(deadline, 0);
  if (until !== 0n && BigInt(Date.now()) > until) process.kill(process.pid, "SIGKILL");
  Atomics.wait(deadline, 0, until, 500);
}`;

/**
 * Creates a watchdog that kills this process when its event loop is still blocked at an attempt's deadline. Its thread starts
 * with the first attempt.
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
