import { createHook } from "node:async_hooks";
import { strayReceiver } from "../core/task/ambient.ts";
import { catchStrayErrors } from "../machine/stray-errors.ts";
import { nowMs, setImmediate, setTimeout } from "../machine/timers.ts";

/**
 * A timer that a handler leaves behind is waited for if it ends within this time, in real milliseconds: its code may
 * fail.
 */
const longestWaitMs = 500;

/** The part of Node's timers that is read here. */
interface LeftTimer {
  _idleTimeout: number;
  _repeat: number | null;
  hasRef(): boolean;
}

let running = 0;
let release = () => {};
const timers = new Map<number, LeftTimer>();

/** Timers that code of handlers starts, until they have run or are cleared. */
const hook = createHook({
  init(id, type, _trigger, resource) {
    if (type === "Timeout" && strayReceiver() !== undefined) timers.set(id, resource as LeftTimer);
  },
  destroy(id) {
    timers.delete(id);
  },
  // To follow every promise would take most of a test's time.
  trackPromises: false,
});

/**
 * Runs handlers so that each error that nobody catches goes to the attempt whose code threw it. Errors of other code go
 * where they would go without the kit: to the test runner.
 */
export async function withStrays<T>(run: () => Promise<T>): Promise<T> {
  running += 1;
  if (running === 1) {
    release = catchStrayErrors({});
    hook.enable();
  }
  try {
    return await run();
  } finally {
    running -= 1;
    if (running === 0) {
      hook.disable();
      timers.clear();
      release();
    }
  }
}

/** Waits for the short timers that handlers have left: code behind them may fail when the task has long ended. */
export async function leftTimers(): Promise<void> {
  const untilMs = nowMs() + longestWaitMs;
  const mayFail = (timer: LeftTimer) => timer._repeat === null && timer.hasRef() && timer._idleTimeout <= longestWaitMs;
  do await new Promise((resolve) => setImmediate(resolve));
  while (nowMs() < untilMs && [...timers.values()].some(mayFail) && (await aMillisecond()));
}

const aMillisecond = (): Promise<boolean> => new Promise((resolve) => setTimeout(resolve, 1, true));
