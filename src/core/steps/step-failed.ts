import { type ErrorKind, TaskError } from "../model/errors.ts";

/** The error of the last try, as it is stored: the same in each attempt that meets it. */
interface LastError {
  message: string;
  /** The error's class or code. */
  name: string;
  kind: ErrorKind;
}

/**
 * A step has failed for good: its tries are used up, or no further one can help. Not caught, it fails the task for
 * good.
 */
export class StepFailed extends TaskError {
  static override readonly name: string = "StepFailed";
  readonly kind: "permanent" | "business_rule";
  /** Name of the step. */
  readonly step: string;
  /** Number of its tries. */
  readonly attempts: number;
  /** The error of the last try. Its class is lost, as it comes from the table: `name`, `message` and `kind` are not. */
  override readonly cause: Error & { kind: ErrorKind };

  constructor(step: string, attempts: number, { message, name, kind }: LastError) {
    const cause = Object.assign(new Error(message), { name, kind });
    const tries = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
    super(`step ${JSON.stringify(step)} failed after ${tries}: ${message}`, { cause });
    this.cause = cause;
    this.step = step;
    this.attempts = attempts;
    // A person still has to look at a broken rule. Any other kind could have retries in the policy of the type.
    this.kind = kind === "business_rule" ? kind : "permanent";
  }
}

/** A try of a step took longer than its `timeoutSeconds`. Also the reason of its `AbortSignal`. */
export class StepTimedOut extends TaskError {
  static override readonly name: string = "StepTimedOut";
  readonly kind = "timed_out";
}

/** The end of an awaited child that has not completed. */
export interface ChildEnd {
  /** The child's id. */
  taskId: string;
  status: "failed" | "cancelled" | "expired";
  errorKind: ErrorKind | undefined;
}

/** A child of `task.run` has ended without success. Not caught, it fails the task for good. */
export class ChildFailed extends TaskError {
  static override readonly name: string = "ChildFailed";
  readonly kind = "children_failed";
  /** The child's id. */
  declare readonly taskId: string;
  declare readonly status: "failed" | "cancelled" | "expired";
  /** Kind of the child's error. Undefined: it was cancelled, or has expired. */
  declare readonly errorKind: ErrorKind | undefined;

  constructor(message: string, end: ChildEnd) {
    super(message);
    Object.assign(this, end);
  }
}
