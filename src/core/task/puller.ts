import type { Change } from "../model/change.ts";
import { type Envelope, latestCreatedAt, type Ticket } from "../model/envelope.ts";
import { iso } from "../model/record.ts";
import type { WaitingTask } from "../ports/flow.ts";
import type { Delivery } from "../ports/tasks.ts";
import type { TaskType } from "./task.ts";

/** A delivery whose body is an envelope. `type` is undefined when the registry does not have it. */
export interface TaskMessage {
  delivery: Delivery;
  envelope: Envelope;
  type: TaskType | undefined;
  /** The ticket of the line from which the message comes. Absent: it comes from no line. */
  ticket?: Ticket | undefined;
  /** The permit that its worker has just passed to the task. Absent: another call gave it one, or it has none. */
  passed?: PassedPermit | undefined;
}

/** A permit that a worker passed on to the task that it starts next. */
export interface PassedPermit {
  /** The name of its line. */
  line: string;
  /** The bucket of the line's permits that has it. */
  bucket: number;
  /** Epoch milliseconds. */
  untilMs: number;
}

/** Time-out in seconds for a type that the registry does not have. */
const unknownTimeoutSeconds = 30;

export const timeoutOf = ({ type }: TaskMessage): number => type?.timeoutSeconds ?? unknownTimeoutSeconds;

/** The test of a record whose task can start now. */
export const canStart = ({ envelope, delivery }: TaskMessage, nowMs: number): Change["when"] => ({
  status: { is: "pending" },
  priority: { is: delivery.tier },
  type: { is: envelope.type },
  due_at: { atMost: iso(nowMs) },
  start_by: { above: iso(nowMs), orAbsent: true },
  purge_at: { above: Math.floor(nowMs / 1000) },
  created_at: { atMost: latestCreatedAt(envelope) },
});

/** The longest time, in milliseconds, by which a queue is known to be behind: a message is delayed by no more. */
const longestBehindMs = 900_000;

/**
 * A worker goes on with the tasks of a line for this time, in milliseconds, after the message that led to it. Then
 * others have their turn: tasks of other lines and tenants are in the same queue.
 */
const minuteMs = 60_000;

/** A tier is behind when its messages come later than this, in milliseconds. */
const inTimeMs = 4_000;

/** A worker needs a successor after this many tasks: each costs a message. */
const fewestTasks = 5;

/** A successor may come later than its predecessor did by this time, in milliseconds: the tier falls further behind. */
const marginMs = 60_000;

interface PullerOptions {
  /** Milliseconds between the time for which the message was sent that led to it, and its arrival. */
  behindMs: number;
  /** Epoch milliseconds of that arrival. */
  cameMs: number;
  /** Milliseconds. Absent: a minute. */
  shareMs?: number | undefined;
}

/**
 * Pulls the next task of a line for the worker that has just ended a task of it: no message has to pass through the
 * queue, however far that is behind. Has one task at a time.
 */
export class Puller {
  #messageOf: (task: WaitingTask, ticket: Ticket) => TaskMessage | undefined;
  #behindMs: number;
  /** Epoch milliseconds at which this worker has had its share. */
  #shareEndsMs: number;
  #successorMs: number | undefined;
  #taken = 0;
  #message: TaskMessage | undefined;
  #dequeued: Promise<unknown> = Promise.resolve();
  #succeeded: Promise<void> | undefined;

  /**
   * @param messageFor Returns undefined for a task that the worker cannot run, or not in its time.
   */
  constructor(
    messageFor: (task: WaitingTask, ticket: Ticket) => TaskMessage | undefined,
    { behindMs, cameMs, shareMs = minuteMs }: PullerOptions = { behindMs: 0, cameMs: 0 },
  ) {
    this.#messageOf = messageFor;
    this.#behindMs = Math.min(Math.max(0, behindMs), longestBehindMs);
    this.#shareEndsMs = cameMs + shareMs;
  }

  /** True when it has no task yet. */
  get isFree(): boolean {
    return this.#message === undefined;
  }

  /** The time by which the queue of this worker is behind at most, in milliseconds. */
  get behindMs(): number {
    return this.#behindMs;
  }

  /** The caller knows a longest value of that time: what is above it was a delay of the message. */
  limitBehind(ms: number): void {
    this.#behindMs = Math.min(Math.max(0, ms), this.#behindMs);
  }

  /** True when a worker that waits for the permit of this one gets it. */
  hadShare(nowMs: number): boolean {
    return nowMs >= this.#shareEndsMs;
  }

  /**
   * True while this worker may pull a further task. In a tier that is behind it goes on for twice the time that a
   * message takes, and a minute, as its successor comes meanwhile.
   */
  mayPull(nowMs: number): boolean {
    return nowMs <= (this.#successorMs ?? this.#shareEndsMs) + (this.#isBehind ? 2 * this.#behindMs + marginMs : 0);
  }

  /** True when the message of this worker's successor has to be sent. */
  needsSuccessor(nowMs: number): boolean {
    return this.#isBehind && this.#successorMs === undefined && this.#taken >= fewestTasks && this.hadShare(nowMs);
  }

  /** That message is sent now. */
  noteSuccessor(nowMs: number): void {
    this.#successorMs = nowMs;
  }

  get #isBehind(): boolean {
    return this.#behindMs > inTimeMs;
  }

  /** This worker is a successor. Resolves when it has pulled a task, or will pull none. Absent: it is none. */
  get succeeded(): Promise<void> | undefined {
    return this.#succeeded;
  }

  /** @param succeeded Must not reject. */
  succeeds(succeeded: Promise<void>): void {
    this.#succeeded = succeeded;
  }

  /** The message with which this worker can pull a task. Undefined: the task has to go by message. */
  messageFor(task: WaitingTask, ticket: Ticket): TaskMessage | undefined {
    return this.isFree ? this.#messageOf(task, ticket) : undefined;
  }

  /** Pulls the task of a message that `messageOf` has just returned. */
  pull(message: TaskMessage): void {
    this.#message = message;
    this.#taken += 1;
  }

  /** The task that was pulled leaves its line while it begins. Never rejects. */
  get dequeued(): Promise<unknown> {
    return this.#dequeued;
  }

  /** @param dequeued Resolves when the task's backup message is sent and its entry removed. Must not reject. */
  dequeues(dequeued: Promise<unknown>): void {
    this.#dequeued = dequeued;
  }

  /** Pulls no further task: a task that could not leave its line would be pulled again and again. */
  end(): void {
    this.#messageOf = () => undefined;
  }

  /** The message of the task that was pulled, once. */
  pulled(): TaskMessage | undefined {
    const message = this.#message;
    this.#message = undefined;
    return message;
  }
}
