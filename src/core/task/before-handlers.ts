import type { TaskType } from "./task.ts";

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
