import type { Grant } from "../model/grant.ts";
import type { WaitingTask } from "../ports/flow.ts";
import type { TaskMessage } from "../task/task-message.ts";

/** The longest time, in milliseconds, by which a queue is known to be behind: a message is delayed by no more. */
const longestBehindMs = 900_000;

/**
 * Takes the next task of a line for the worker that has just ended a task of it: no message has to pass through the
 * queue, however far that is behind. Has one task at a time.
 */
export class Taker {
  #messageOf: (task: WaitingTask, grant: Grant) => TaskMessage | undefined;
  #behindMs: number;
  #message: TaskMessage | undefined;
  #left: Promise<void> = Promise.resolve();

  /**
   * @param messageOf Returns undefined for a task that the worker cannot run, or not in its time.
   * @param behindMs Milliseconds between the time for which the message was sent that led to it, and its arrival.
   */
  constructor(messageOf: (task: WaitingTask, grant: Grant) => TaskMessage | undefined, behindMs = 0) {
    this.#messageOf = messageOf;
    this.#behindMs = Math.min(Math.max(0, behindMs), longestBehindMs);
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

  /** The message with which this worker can take a task. Undefined: the task has to go by message. */
  messageOf(task: WaitingTask, grant: Grant): TaskMessage | undefined {
    return this.isFree ? this.#messageOf(task, grant) : undefined;
  }

  /** Takes the task of a message that `messageOf` has just returned. */
  take(message: TaskMessage): void {
    this.#message = message;
  }

  /** The task that was taken leaves its line while it begins. Never rejects. */
  get left(): Promise<void> {
    return this.#left;
  }

  /** @param left Resolves when the task's spare message is sent and its entry removed. Must not reject. */
  leaves(left: Promise<void>): void {
    this.#left = left;
  }

  /** Takes no further task: a task that could not leave its line would be taken again and again. */
  end(): void {
    this.#messageOf = () => undefined;
  }

  /** The message of the task that was taken, once. */
  taken(): TaskMessage | undefined {
    const message = this.#message;
    this.#message = undefined;
    return message;
  }
}
