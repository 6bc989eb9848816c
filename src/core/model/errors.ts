import { knowCopies } from "../../util/copies.ts";
import { awsThrottles } from "./aws-errors.ts";

/** The failure classes, a closed set. `retry.ts` says what follows from each. */
export const errorKinds = [
  "transient",
  "rate_limited",
  "conflict",
  "unavailable",
  "not_found",
  "validation",
  "business_rule",
  "permanent",
  "crashed",
  "timed_out",
  "children_failed",
] as const;

export type ErrorKind = (typeof errorKinds)[number];

/** Base class of the errors by which a handler chooses what happens next. */
export abstract class TaskError extends Error {
  /**
   * A class says its name itself: the bundles of functions shorten the names of Offload's own code.
   * @hidden
   */
  static override readonly name: string = "TaskError";
  /** The failure class this error stands for. */
  abstract readonly kind: ErrorKind;

  static {
    knowCopies(TaskError, "TaskError");
  }

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/**
 * No further attempt can help: the task becomes a dead letter immediately.
 * @example throw new PermanentError("the account was closed")
 */
export class PermanentError extends TaskError {
  static override readonly name: string = "PermanentError";
  readonly kind = "permanent";
}

/**
 * A business rule forbids it: the task becomes a dead letter immediately, marked `needs_review` for a person.
 * @example throw new BusinessRuleViolation("the order is over its credit limit")
 */
export class BusinessRuleViolation extends TaskError {
  static override readonly name: string = "BusinessRuleViolation";
  readonly kind = "business_rule";
}

/** The input is not valid: the task becomes a dead letter immediately. */
export class InvalidInput extends TaskError {
  static override readonly name: string = "InvalidInput";
  readonly kind = "validation";
}

/**
 * The other service asked for a pause: the next attempt starts no earlier than after that many seconds.
 * @example throw new RetryAfter(20)
 */
export class RetryAfter extends TaskError {
  static override readonly name: string = "RetryAfter";
  readonly kind = "rate_limited";
  /** Whole seconds to wait, 0 to 2592000 (30 days); 0 for anything that is not a number. */
  readonly retryAfterSeconds: number;

  constructor(
    retryAfterSeconds: number,
    message = `asked to retry after ${retryAfterSeconds} s`,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.retryAfterSeconds = Math.min(2_592_000, Math.max(0, Math.ceil(retryAfterSeconds) || 0));
  }
}

/**
 * A call of Offload's own functions that can never succeed as it is, such as `withOutcome("")`: the task becomes a dead
 * letter immediately.
 */
export class Misuse extends TypeError {
  static override readonly name: string = "Misuse";
  readonly kind = "permanent";
}

/** A dependency is down: retried with waits of at least a minute. */
export class Unavailable extends TaskError {
  static override readonly name: string = "Unavailable";
  readonly kind = "unavailable";
}

/**
 * The input has a later version than this worker knows: a release is being deployed, or was rolled back. Created by
 * Offload; retried, as a later worker knows the version.
 */
export class InputTooNew extends TaskError {
  static override readonly name: string = "InputTooNew";
  readonly kind = "unavailable";
}

/** A secret of the handlers could not be read, so the handler did not start. Created by Offload; retried. */
export class SecretUnreadable extends TaskError {
  static override readonly name: string = "SecretUnreadable";
  readonly kind = "transient";

  constructor(source: string, variables: string, reason: string) {
    super(`the ${source} for the variable ${variables} could not be read: ${reason}`);
  }
}

/**
 * The attempt outlived the type's `timeoutSeconds`. Created by Offload; also the reason of the attempt's `AbortSignal`.
 */
export class AttemptTimedOut extends TaskError {
  static override readonly name: string = "AttemptTimedOut";
  readonly kind = "timed_out";
}

/** Too few of a task's children completed. Created by Offload: the task becomes a dead letter. */
export class ChildrenFailed extends TaskError {
  static override readonly name: string = "ChildrenFailed";
  readonly kind = "children_failed";
}

/** The worker died, or lost its lease, before the attempt ended. Created by Offload from the record. */
export class AttemptCrashed extends TaskError {
  static override readonly name: string = "AttemptCrashed";
  readonly kind = "crashed";
}

/** The task was cancelled while an attempt ran: the reason of the attempt's `AbortSignal`. */
export class AttemptCancelled extends Error {
  constructor() {
    super("the task was cancelled");
    this.name = "AttemptCancelled";
  }
}

/**
 * The worker has to end: the reason of the attempt's `AbortSignal`. The attempt is not counted, and its task starts
 * again elsewhere.
 */
export class WorkerStopping extends Error {
  constructor() {
    super("the worker has to end; the task is given back");
    this.name = "WorkerStopping";
  }
}

/**
 * A port cannot answer now: it is throttled, down or timed out. Adapters throw it with the cause; the core tries again
 * or answers 503.
 */
export class PortUnavailable extends Error {
  constructor(port: string, options?: ErrorOptions) {
    super(`${port} is unavailable`, options);
    this.name = "PortUnavailable";
  }
}

/**
 * A later release has written a stored form that this one cannot read: a part, an entry of a line, a setting. The task
 * that needs it waits alone, until that release is deployed again.
 */
export class WrittenLater extends PortUnavailable {
  /** The kind of the form, without ids: each is said once. */
  readonly form: string;

  constructor(form: string, options?: ErrorOptions) {
    super(form, options);
    this.form = form;
    this.message = `${form} was written by a later release of Offload`;
  }
}

/** A line of a limit does not answer: it is throttled, or the table is down. */
export class LineUnavailable extends PortUnavailable {}

/**
 * Other requests changed the same thing between each read and write of this one, which has changed nothing. Clients get
 * 409 with `Retry-After`.
 */
export class Overtaken extends Error {
  constructor(thing: "task" | "receiver") {
    super(`Other requests changed this ${thing} at the same time, and this one changed nothing: repeat it.`);
    this.name = "Overtaken";
  }
}

/**
 * Another writer changed the record between every read and write of this one. Another try is likely to succeed; clients
 * get 503.
 */
export class ChangedMeanwhile extends Error {
  constructor(record: string) {
    super(`${record} was changed by another writer at the same time`);
    this.name = "ChangedMeanwhile";
  }
}

/** True when a service refused a call because there were too many. An earlier try of it may have had its effect. */
export const isThrottled = (error: unknown): boolean =>
  error instanceof PortUnavailable && error.cause instanceof Error && awsThrottles.includes(error.cause.name);
