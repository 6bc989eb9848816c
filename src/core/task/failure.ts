import type { ErrorKind } from "../model/errors.ts";
import type { TaskKey } from "../model/record.ts";

/** The end of a task that failed for good, as its `onFailed` gets it. */
export interface TaskFailure {
  /** Id of the failed task. */
  readonly taskId: string;
  /** Message of the last error. */
  readonly error: string;
  /** Name of the error's class. */
  readonly errorType: string;
  readonly errorKind: ErrorKind;
  /** Number of attempts of the round that failed. */
  readonly attempts: number;
  /** ISO 8601 UTC with milliseconds. */
  readonly failedAt: string;
}

/** The input of a task that runs `onFailed`. */
export interface FailedTask {
  task_id: string;
  type: string;
  error: string;
  error_type: string;
  error_kind: ErrorKind;
  attempts: number;
  failed_at: string;
}

/** Reads the input with which an attempt of Offload's own type starts. */
export type ReadInput = (record: TaskKey, given: unknown) => Promise<unknown>;
