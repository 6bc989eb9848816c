import { describeError } from "../../model/describe-error.ts";
import { countedAs } from "../send/report.ts";
import type { AttemptPorts, Running } from "./attempt-context.ts";

/** Line of the log for an error after its attempt's end. */
export const lateErrorLine = "the code of a task failed after its attempt had ended: something was not awaited";

/** The same for an error that belongs to no task. */
export const ownStrayLine = "an error that belongs to no task was not caught: its origin is code outside of handlers";

/**
 * Reports an error of a task's code that came after the attempt's end, when it can change nothing any more: an error
 * that nobody caught, or a call of the context. Never rejects.
 * @param endedItself False for an attempt that was ended from outside, by its time-out or a cancel: its code goes on
 * then.
 */
export async function reportLate(
  ports: AttemptPorts,
  running: Running,
  error: unknown,
  { endedItself }: { endedItself: boolean },
): Promise<void> {
  const { record, type } = running;
  try {
    ports.metrics.add("stray_errors", 1, countedAs(record));
    if (ports.onLate !== undefined && endedItself) return ports.onLate(error, record);
    const { message, type: error_type } = describeError(error);
    const reported = type.sensitive ? {} : { error: message, stack: await ports.stackOf(error) };
    ports.log.warn(lateErrorLine, {
      error_type,
      ...reported,
    });
  } catch {
    // The report of an error must not fail with an error that nobody catches.
  }
}
