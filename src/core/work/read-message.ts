import { parseEnvelope, parseLineCheck } from "../model/envelope.ts";
import type { Verdict } from "../model/verdict.ts";
import type { Delivery } from "../ports/tasks.ts";
import type { TaskMessage } from "../task/task-message.ts";
import type { RunPorts } from "./run-claimed.ts";

/**
 * Parses a message. A check of a line is done here. A message that is not an envelope goes to the DLQ immediately,
 * whole. The verdict of both is known then.
 */
export async function readMessage(ports: RunPorts, delivery: Delivery): Promise<TaskMessage | Verdict> {
  const check = parseLineCheck(delivery.body);
  if (check !== undefined) return ports.limiter.check(ports, delivery, check);
  const parsed = parseEnvelope(delivery.body);
  if (!parsed.ok) return burySafely(ports, delivery, parsed.reason);
  const { envelope } = parsed;
  return { delivery, envelope, type: ports.registry.get(envelope.type), grant: delivery.grant };
}

/**
 * A DLQ that refuses the message, for example because it is too long once wrapped, must not stop the other messages.
 */
async function burySafely(ports: RunPorts, delivery: Delivery, reason: string): Promise<Verdict> {
  try {
    return await (await import("../end/bury.ts")).buryUnreadable(ports, delivery, reason);
  } catch (error) {
    ports.log.error("could not send an unreadable message to the DLQ", {
      message_id: delivery.messageId,
      error: String(error),
    });
    return "again";
  }
}
