import { buryUnreadable } from "./bury.ts";
import type { TaskMessage } from "./claim.ts";
import { parseEnvelope } from "./envelope.ts";
import type { Delivery } from "./ports.ts";
import type { SettlePorts } from "./settle.ts";
import type { Registry } from "./task.ts";
import type { Verdict } from "./verdict.ts";

/** Parses a message. One that is not an envelope goes to the DLQ immediately, whole; then its verdict is known. */
export async function readMessage(
  ports: SettlePorts & { registry: Registry },
  delivery: Delivery,
): Promise<TaskMessage | Verdict> {
  const parsed = parseEnvelope(delivery.body);
  if (!parsed.ok) return burySafely(ports, delivery, parsed.reason);
  return { delivery, envelope: parsed.envelope, type: ports.registry.get(parsed.envelope.type) };
}

/** A DLQ that refuses the message, for example because it is too long once wrapped, must not stop the other messages. */
const burySafely = (ports: SettlePorts, delivery: Delivery, reason: string): Promise<Verdict> =>
  buryUnreadable(ports, delivery, reason).catch((error: unknown) => {
    ports.log.error("could not send an unreadable message to the DLQ", {
      message_id: delivery.messageId,
      error: String(error),
    });
    return "again";
  });
