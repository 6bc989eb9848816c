import { type ErrorKind, TaskError } from "../../model/errors.ts";
import type { TaskRecord } from "../../model/record.ts";
import type { StackOf } from "../../model/stack.ts";
import type { EntryPorts } from "../../pipeline/send/keep-entries.ts";
import type { CallCounts, StepEntry, StoredEntry } from "../../ports/steps.ts";
import type { Random, Records } from "../../ports/tasks.ts";
import type { TaskLog } from "../../task/context.ts";
import type { Call, StepOptions } from "../../task/step-calls.ts";
import type { TaskType } from "../../task/task.ts";
import type { Rest, RestPorts } from "./rest.ts";

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

export interface StepPorts extends EntryPorts, RestPorts {
  records: Records;
  random: Random;
  /** Multiplies the waits between tries of a step. */
  timeScale: number;
}

/** The tasks that the attempt has spawned and submitted. */
export interface Caused {
  /** Creates what is not created yet, before something is stored that a later attempt goes on behind. */
  keep(): Promise<void>;
  /**
   * Stores the submits, too: a later attempt goes on behind a state without them.
   * @param until Epoch second until which the record is kept in a wait of months. Absent: the attempt begins none.
   */
  keepAll(until?: number): Promise<void>;
  counts(): CallCounts;
}

/** The kinds of calls that a handler makes. */
export type CallKind = "step" | "sleep" | "wait" | "run";

/** The options of a step, and the parts of its attempt that its tries need. */
export interface Tries {
  options: StepOptions;
  log: Pick<TaskLog, "warn">;
  stackOf: StackOf;
}

/** The signal that ended a wait for one of several. */
export interface AnySignal {
  name: string;
  body: unknown;
}

/** The parts of an attempt with which the code of rare calls works. It is loaded with their first use. */
export interface StepTools {
  readonly ports: StepPorts;
  readonly record: TaskRecord;
  readonly type: TaskType;
  readonly rest: Rest;
  /** The entries of earlier attempts, and those that this one has stored, by kind and name. */
  stored(): Promise<Map<string, StoredEntry>>;
  /** Runs a call of the handler with its entry from an earlier attempt, if there is one. */
  call<T>(
    kind: CallKind,
    name: string,
    run: (call: Call, stored: StepEntry | undefined) => Promise<T>,
    mayWait?: boolean,
  ): Promise<T>;
  /** Stores an entry. Returns the entry that was stored first. */
  add(entry: StepEntry): Promise<StepEntry>;
  /** The result of a step as it is stored. */
  kept(value: unknown, what: string): Pick<StepEntry, "value" | "fault">;
  /** Runs the function of a step. */
  effect<T>(call: Call, made: () => Promise<T> | T): Promise<T>;
  /** Runs a step whose failure is the attempt's. */
  plainStep(call: Call, made: () => Promise<unknown>): Promise<unknown>;
  /** The name of a call as the handler gave it. */
  ownName(call: Call): string;
}
