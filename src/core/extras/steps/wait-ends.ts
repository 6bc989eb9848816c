import { inShort } from "../../../util/foreign-value.ts";
import { PermanentError } from "../../model/errors.ts";
import { checkedMs, checkedSignalName, longestWaitSeconds, type WaitEnd } from "../../task/step-names.ts";

/** The most names of one wait. */
const mostNames = 10;

/** @throws PermanentError */
export function mustBeSignalNames(names: readonly string[], what: string): void {
  if (names.length === 0 || names.length > mostNames) {
    throw new PermanentError(
      `${what}: expected an object with 1 to ${mostNames} names of signals, such as { approve: {}, reject: {} }, got ${names.length}`,
    );
  }
  for (const name of names) checkedSignalName(name, what);
}

/** Returns what the end of a wait is, given the present time; both in epoch milliseconds. @throws PermanentError */
export function checkedEnd(end: WaitEnd | undefined, what: string): (nowMs: number) => number {
  if (end?.until === undefined) {
    const ms = checkedMs(end?.timeoutSeconds as number, `${what}: timeoutSeconds`);
    return (nowMs) => nowMs + ms;
  }
  if (end.timeoutSeconds !== undefined) {
    throw new PermanentError(`${what}: give either timeoutSeconds or until, not both`);
  }
  return untilTime(end.until, `${what}: until`);
}

/**
 * The time of a date, or of its ISO text. @throws PermanentError for any other value, and for a time that is more than
 * a year away
 */
export function untilTime(given: Date | string, what: string): (nowMs: number) => number {
  const untilMs = timeOf(given);
  if (Number.isNaN(untilMs)) {
    throw new PermanentError(`${what}: expected a Date, or a time such as 2027-04-07T10:00:00Z, got ${inShort(given)}`);
  }
  return (nowMs) => {
    if (untilMs - nowMs <= longestWaitSeconds * 1000) return untilMs;
    throw new PermanentError(`${what}: ${new Date(untilMs).toISOString()} is more than a year away`);
  };
}

/** Epoch milliseconds. A text needs its offset from UTC: without one it would be the worker's local time. */
function timeOf(given: unknown): number {
  if (typeof given === "string") return isoTime.test(given) ? Date.parse(given) : Number.NaN;
  return Object.prototype.toString.call(given) === "[object Date]" ? (given as Date).getTime() : Number.NaN;
}

const isoTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/;
