import type { Grant } from "../model/grant.ts";
import type { WaitingTask } from "../ports/flow.ts";
import type { TaskMessage } from "../task/task-message.ts";

/**
 * Takes the next task of a line for the worker that has just ended a task of it: no message has to pass through the
 * queue, however far that is behind. Has one task at a time.
 */
export class Taker {
  readonly #messageOf: (task: WaitingTask, grant: Grant) => TaskMessage | undefined;
  #message: TaskMessage | undefined;

  /** @param messageOf Returns undefined for a task that the worker cannot run, or not in its time. */
  constructor(messageOf: (task: WaitingTask, grant: Grant) => TaskMessage | undefined) {
    this.#messageOf = messageOf;
  }

  /** True when it has no task yet. */
  get isFree(): boolean {
    return this.#message === undefined;
  }

  /** Returns false when the task has to go by message. */
  take(task: WaitingTask, grant: Grant): boolean {
    if (this.#message !== undefined) return false;
    this.#message = this.#messageOf(task, grant);
    return this.#message !== undefined;
  }

  /** The message of the task that was taken, once. */
  taken(): TaskMessage | undefined {
    const message = this.#message;
    this.#message = undefined;
    return message;
  }
}
