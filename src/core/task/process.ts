import { type ChecksOf, calledAt, func, optionsFault } from "./check-options.ts";
import type { TaskType } from "./task.ts";

/** Functions for the life of each process that runs handlers: a worker's, a container's, and those of `offload dev`. */
export interface TaskProcess {
  /**
   * Runs once in a process, before its first attempt. While it fails, each attempt fails with its error, and runs it
   * again. Default: nothing.
   */
  readonly start?: (() => unknown) | undefined;
  /**
   * Sends what the process holds back, such as spans or errors: when a batch of attempts has ended, before Lambda may
   * freeze the process. Has 3 seconds. Its error is logged. Default: nothing.
   */
  readonly flush?: (() => unknown) | undefined;
  /**
   * Closes what the process holds, such as connections: when the process ends on purpose. Has 2 seconds. Its error is
   * logged. Default: nothing.
   */
  readonly stop?: (() => unknown) | undefined;
}

const checks: ChecksOf<TaskProcess> = { start: func, flush: func, stop: func };

/**
 * Defines what each process does that runs handlers, as the default export of `tasks/process.ts`.
 * @throws TypeError that names the option and what is allowed
 * @example
 * export default defineProcess({
 *   start: () => Sentry.init({ dsn: process.env.SENTRY_DSN }),
 *   flush: () => Sentry.flush(2_000),
 *   stop: () => pool.end(),
 * });
 */
export function defineProcess(options: TaskProcess): TaskProcess {
  const fault = optionsFault(options, checks);
  if (fault !== undefined) throw new TypeError(`defineProcess: ${fault}${calledAt(defineProcess)}`);
  const { start, flush, stop } = options;
  return { start, flush, stop };
}

/** Task types whose code runs within a call of `around`: handlers, and the functions that follow an end. */
export const handlersWithin = (
  types: readonly TaskType[],
  around: <T>(call: () => T | Promise<T>) => Promise<T>,
): TaskType[] =>
  types.map(({ handler, aggregate, onFailed, ...type }) => ({
    ...type,
    handler: (...given) => around(() => handler(...given)),
    aggregate: aggregate && ((...given) => around(() => aggregate(...given))),
    onFailed: onFailed && ((...given) => around(() => onFailed(...given))),
  }));
