import type { Counts } from "../model/counts.ts";
import type { ErrorKind } from "../model/errors.ts";
import type { Status } from "../model/status.ts";

/** Options of a type that spawns children. */
export interface ChildrenOptions<Input> {
  threshold?: number | ((input: Input) => number);
}

/** An ended child, for the handler that aggregates. */
export interface ChildResult<Result = unknown> {
  taskId: string;
  /** The key that it was spawned with. Default: its number, from 0. */
  key: string;
  status: Exclude<Status, "scheduled" | "pending" | "processing">;
  /** The JSON result. Undefined: it did not complete, or its result is a file or is no longer kept. */
  result: Result | undefined;
  error: string | undefined;
  errorKind: ErrorKind | undefined;
}

/** Numbers of a task's ended children: its result where its type has no `aggregate`. */
export interface FamilyCounts extends Counts {
  total: number;
}

/** The ended children of a task. */
export interface Children<Result = unknown> extends FamilyCounts {
  /** Iterates over all children in the order of their spawn, a page at a time. */
  results(): AsyncIterable<ChildResult<Result>>;
}
