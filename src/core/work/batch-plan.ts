import { type TaskMessage, timeoutOf } from "../task/task-message.ts";
import { hideSeconds } from "./batch-visibility.ts";

/**
 * Longest time for the claims of a batch, in seconds. The shortest lease, 17 s, must last until its handler has
 * started.
 */
export const beginSeconds = 10;

/**
 * Time that an attempt needs besides its time-out, in seconds: before it for hiding and claims, after it for settling.
 */
export const reserveSeconds = hideSeconds + beginSeconds + 15;

/** The order of work on one batch. */
export interface BatchPlan {
  /** Claimed and run at the same time. */
  together: TaskMessage[];
  /** Run one after the other, when those before have ended. */
  alone: TaskMessage[];
  /** Not started in this batch, for the sake of a message that runs alone: sent to the tier again. */
  sentBack: TaskMessage[];
  /** Not started: the function is stopped before an attempt could end, whatever the batch does. */
  late: TaskMessage[];
}

/** The longest time, in milliseconds, from the start of a message's work to the end of its settling. */
const longestMs = (message: TaskMessage): number => (timeoutOf(message) + reserveSeconds) * 1000;

/** True when work on a message that starts now ends, at the latest, before the function is stopped. */
export const fitsIn = (message: TaskMessage, nowMs: number, deadlineMs: number): boolean =>
  nowMs + longestMs(message) <= deadlineMs;

/** The longest time, in milliseconds, that the messages before the messages that run alone may take. */
const longestTogetherMs = (together: readonly TaskMessage[]): number => Math.max(0, ...together.map(longestMs));

/**
 * The longest time, in milliseconds, until each message that runs alone starts: after the rest, and after those before
 * it.
 */
export function waitsMs(together: readonly TaskMessage[], alone: readonly TaskMessage[]): number[] {
  let waitMs = longestTogetherMs(together);
  return alone.map((message) => {
    const own = waitMs;
    waitMs += longestMs(message);
    return own;
  });
}

/**
 * Plans a batch. Messages of crashed tasks run alone, after the rest. Where that may not fit before the deadline, the
 * first of them runs at once and everything else is sent back: a task of 14 minutes would otherwise never start in a
 * busy tier.
 */
export function planBatch(messages: readonly TaskMessage[], nowMs: number, deadlineMs: number): BatchPlan {
  const late = messages.filter((message) => !fitsIn(message, nowMs, deadlineMs));
  const starting = messages.filter((message) => !late.includes(message));
  const together = starting.filter(({ delivery }) => !delivery.solo);
  const alone = starting.filter(({ delivery }) => delivery.solo);
  const wholeMs = longestTogetherMs(together) + alone.reduce((sum, message) => sum + longestMs(message), 0);
  if (alone.length === 0 || nowMs + wholeMs <= deadlineMs) return { together, alone, sentBack: [], late };
  const [first] = alone;
  return {
    together: [],
    alone: first === undefined ? [] : [first],
    sentBack: starting.filter((message) => message !== first),
    late,
  };
}
