import { performance } from "node:perf_hooks";
import timers from "node:timers";

/*
 * The machine's own timers and time. A test may have replaced the global ones, such as by `vi.useFakeTimers()`: code
 * that waits for those would wait for ever.
 */

export const { setImmediate, setTimeout } = timers;

/** Milliseconds since the process started. */
export const nowMs: () => number = performance.now.bind(performance);
