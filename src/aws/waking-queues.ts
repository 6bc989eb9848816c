import type { Log } from "../core/ports/tasks.ts";
import { lazily } from "../util/lazily.ts";
import type { SqsQueues } from "./queues.ts";

/** The queues of a deployment. */
type MainQueues = Pick<SqsQueues, "send" | "sendMany" | "sendCheck" | "hold" | "deadLetter">;

/**
 * Adds a wake of the container workers to each send of a message for them. Other messages cost nothing, and load no
 * code.
 * @param functionName Name of the function that starts a container. Undefined: the queues stay as they are.
 */
export function wakingQueues(queues: SqsQueues, functionName: string | undefined, log: Log): MainQueues {
  if (functionName === undefined) return queues;
  const opened = lazily(async () => (await import("./wake-containers.ts")).containerWaker(functionName, log));
  return withWake(queues, async () => (await opened())());
}

/** Calls `wake` after each send of a message for container workers. */
export const withWake = (queues: MainQueues, wake: () => Promise<void>): MainQueues => ({
  hold: queues.hold.bind(queues),
  deadLetter: queues.deadLetter.bind(queues),
  async send(message) {
    await queues.send(message);
    if (message.runsOn === "container") await wake();
  },
  async sendCheck(message) {
    await queues.sendCheck(message);
    if (message.runsOn === "container") await wake();
  },
  async sendMany(queue, messages) {
    const errors = await queues.sendMany(queue, messages);
    if (queue.runsOn === "container") await wake();
    return errors;
  },
});
