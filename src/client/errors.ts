import type { InputError, ProblemCode } from "../core/model/problem.ts";
import type { TaskView } from "../core/model/task-view.ts";

/** Base class of the client's errors. */
export abstract class OffloadError extends Error {}

/**
 * The members of a problem document that the client reads. A gateway's own answer has `message` in place of `detail`.
 */
export interface ProblemBody {
  code?: ProblemCode;
  detail?: string;
  message?: string;
  errors?: InputError[];
  correlation_id?: string;
  task_id?: string;
}

/** The API refused a request. */
export class ProblemError extends OffloadError {
  override readonly name = "ProblemError";
  /** HTTP status. */
  declare readonly status: number;
  /** Code of the problem. Undefined: the gateway before the API answered. */
  declare readonly code: ProblemCode | undefined;
  /** One sentence for people. */
  declare readonly detail: string;
  /** Faults of the input by JSON pointer, such as `/input/width`. Empty: the problem is not about fields. */
  declare readonly errors: readonly InputError[];
  /** Id under which the service's log has the request. Undefined: the answer had none. */
  declare readonly correlationId: string | undefined;
  /** With the code `idempotency_key_reused`: the task that the key has made. */
  declare readonly taskId: string | undefined;
  /** Seconds before another try, from `Retry-After`. Undefined: the answer had none. */
  declare readonly retryAfterSeconds: number | undefined;
  /** Number of requests that were sent, with all repeats. */
  declare readonly tries: number;

  constructor(
    problem: ProblemBody & { status: number; detail: string },
    retryAfterSeconds: number | undefined,
    tries: number,
  ) {
    const { status, code, detail, correlation_id: correlationId, errors = [], task_id: taskId } = problem;
    const correlation = status >= 500 && correlationId ? `, correlation id ${correlationId}` : "";
    super(`${detail} (${status}${code ? ` ${code}` : ""}${correlation})`);
    Object.assign(this, { status, code, detail, errors, correlationId, taskId, retryAfterSeconds, tries });
  }
}

/**
 * True when a repeated request was refused with this status: the first try may have succeeded, and its answer was lost.
 */
export const refusesRepeat = (error: unknown, status: number): boolean =>
  error instanceof ProblemError && error.tries > 1 && error.status === status;

/**
 * No answer, or only a part of one, arrived: a network error, or the time limit of a request. `cause` has the reason.
 */
export class ConnectionError extends OffloadError {
  override readonly name = "ConnectionError";
}

/** The answer does not come from an Offload API: the URL is wrong, or a proxy answered. */
export class UnexpectedAnswer extends OffloadError {
  override readonly name = "UnexpectedAnswer";
  declare readonly status: number;
  /** Seconds before another try, from `Retry-After`. Undefined: the answer had none. */
  declare readonly retryAfterSeconds: number | undefined;

  constructor(url: string, status: number, retryAfterSeconds?: number) {
    super(`${url} answered ${status}, but not as Offload does; check the URL`);
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The `timeoutMs` of a call is over. A task that it waited for goes on. */
export class CallTimeout extends OffloadError {
  override readonly name = "CallTimeout";
}

/** A task ended without a result. */
export abstract class TaskEnded extends OffloadError {
  /** The task at its end. */
  declare readonly task: TaskView;

  constructor(task: TaskView, why: string) {
    super(`task ${task.task_id} (${task.type}) ${why}`);
    this.task = task;
  }
}

/** The task failed permanently. */
export class TaskFailed extends TaskEnded {
  override readonly name = "TaskFailed";
  /** Failure class of the last attempt, such as `permanent` or `timed_out`. */
  declare readonly kind: string | null;
  /** Message of the last attempt's error. */
  declare readonly error: string | null;
  /** Number of attempts. */
  declare readonly attempts: number;

  constructor(task: TaskView) {
    const attempts = `${task.attempts} attempt${task.attempts === 1 ? "" : "s"}`;
    super(task, `failed after ${attempts}: ${task.error ?? task.error_kind}`);
    this.kind = task.error_kind;
    this.error = task.error;
    this.attempts = task.attempts;
  }
}

/** The task was cancelled. */
export class TaskCancelled extends TaskEnded {
  override readonly name = "TaskCancelled";

  constructor(task: TaskView) {
    super(task, "was cancelled");
  }
}

/** The task expired: no attempt had started in time. */
export class TaskExpired extends TaskEnded {
  override readonly name = "TaskExpired";

  constructor(task: TaskView) {
    super(task, `expired at ${task.expires_at} before its first attempt`);
  }
}
