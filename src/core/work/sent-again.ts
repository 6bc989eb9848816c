import type { Outgoing } from "../ports/tasks.ts";
import type { TaskMessage } from "../task/task-message.ts";

/**
 * The message that is sent in place of a received one. It has no receives: after too many of them, redrive would make a
 * dead letter of it.
 */
export const sentAgain = (
  { delivery, envelope, grant }: Pick<TaskMessage, "delivery" | "envelope" | "grant">,
  { delaySeconds = 0, solo = delivery.solo }: { delaySeconds?: number; solo?: boolean } = {},
): Outgoing => {
  const { tier, runsOn, redrives } = delivery;
  return { tier, runsOn, envelope, delaySeconds, solo, redrives, ...(grant && { grant }) };
};
