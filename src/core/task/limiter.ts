import type { Envelope, LineCheck, Ticket } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Verdict } from "../ports/queues.ts";
import type { Delivery } from "../ports/tasks.ts";
import type { TaskMessage } from "./puller.ts";
import type { TaskType } from "./task.ts";

/**
 * An attempt to settle: its record as claimed, its message, and its type. `type` is undefined when the registry does
 * not have it.
 */
export interface Settling {
  record: TaskRecord;
  envelope: Envelope;
  type: TaskType | undefined;
  /** Places of the handler's error. Undefined: it threw none that may be stored. */
  stack?: string | undefined;
  /** True: the handler threw a bug of its own code. */
  isOwnBug?: boolean;
  /** Called when the end of a completed attempt is stored, before anybody is notified. */
  onCompleted?: () => void;
}

/**
 * The effect of settling, and the record after it. `stale`: the record had changed, so the attempt's end does not
 * count. It is also the result when this attempt changed the record and the answer was lost, so the caller looks at the
 * record again.
 */
export interface Settled {
  as: "completed" | "retried" | "failed" | "cancelled" | "waiting" | "suspended" | "stale";
  record: TaskRecord | undefined;
}

/**
 * The right of one task to start now. The pipeline calls, in this order: `untilStart` if it has a start, `renew` any
 * number of times, `handlerEnded`, `settled`, `end`. A task that cannot start after all gets `giveBack`,
 * `unclaimed` or `refused` instead.
 */
export interface Permit {
  readonly as: "permit";
  /** Epoch milliseconds before which the handler does not start. Undefined: it starts immediately. */
  readonly startMs: number | undefined;
  /** The bucket of its line that has the permit. Undefined: the first one, or none has. */
  readonly bucket: number | undefined;
  /** The line of strict order whose turn the task has until its end. Undefined: its type has no such order. */
  readonly turn?: string | undefined;
  /** The error with which the attempt ends without a call of the handler. Undefined: none. */
  readonly fault: unknown;
  /** The error with which the attempt of a closed list ends without a call of the handler. Undefined: none. */
  faultOfList(list: Envelope): Promise<unknown>;
  /** The answers that the task need not ask for again, for its second try in the same batch. */
  readonly ticket: Ticket;
  /** Waits for the start that a rate gave. Returns false when that has passed, and the next one is far away. */
  untilStart(): Promise<boolean>;
  /** Keeps the permit as long as the attempt's lease. */
  renew(record: TaskRecord, type: TaskType): Promise<void>;
  /** The handler has ended. Its end is not stored yet. */
  handlerEnded(): void;
  /** The attempt's end is stored. Nobody is notified of a completed one yet, and no breaker has counted another one. */
  settled(as: Settled["as"]): void;
  /** Nothing follows for this message. Never throws. */
  end(): Promise<void>;
  /** Returns the permit of a task that does not start, or whose attempt has crashed. Never throws. */
  giveBack(): Promise<void>;
  /** No claim was made. What another message's attempt may run with stays with it. Never throws. */
  unclaimed(): Promise<void>;
  /** The claim was refused. `record` is the task as it is. Never throws. */
  refused(record: TaskRecord | undefined): Promise<void>;
}

/** A task that may not start yet. */
export interface Waiting {
  readonly as: "waiting";
  /**
   * Puts the task, with its message, where it waits.
   * @returns Undefined when it waits; otherwise the record of a task that cannot start anyway.
   * @throws PortUnavailable
   */
  enqueue(): Promise<{ unfit: TaskRecord | undefined } | undefined>;
  /** The task cannot start anyway. `record` is the task as it is. Never throws. */
  refused(record: TaskRecord | undefined): Promise<void>;
}

/** Decides when tasks start: the one port of pauses, breakers, rates and permits. */
export interface Limiter<Ports> {
  /**
   * Decides if a task may start. Undefined: it may, and has nothing to return.
   * @throws PortUnavailable; LineUnavailable, when the settings are known and a line does not answer
   */
  admit(ports: Ports, message: TaskMessage): Promise<Permit | Waiting | undefined>;
  /**
   * The permit of an attempt that has crashed. Undefined: it has none.
   * @throws PortUnavailable
   */
  ofCrashed(ports: Ports, message: TaskMessage, record: TaskRecord): Promise<Permit | undefined>;
  /** Counts the end of an attempt. `record` is the task as it was claimed. Never throws. */
  settled(ports: Ports, message: TaskMessage & { record: TaskRecord }, as: Settled["as"]): Promise<void>;
  /** Goes on with the line that a message names. */
  check(ports: Ports, delivery: Delivery, check: LineCheck): Promise<Verdict>;
}
