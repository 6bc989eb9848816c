import { parseEnvelope } from "../model/envelope.ts";
import type { WorkQueues } from "../ports/serve.ts";
import type { Clock, Delivery, Log, Queues } from "../ports/tasks.ts";
import type { Visibility } from "../ports/visibility.ts";
import { longestDelaySeconds } from "../send/dispatch.ts";
import { sentAgain } from "./sent-again.ts";

/** SQS hides a message for at most this time after its receive, in seconds, and answers an error to a longer hold. */
const longestHoldSeconds = 43_200;

/** A hold that would end later than this many seconds before that limit is not requested. */
const marginSeconds = 60;

interface HoldPorts {
  clock: Clock;
  log: Log;
  queues: Queues;
  workQueues: WorkQueues;
}

/**
 * Keeps one received message hidden, for as long as work on it lasts. Shortly before SQS's limit of 12 hours a new
 * message replaces it, with the longest delay: the attempt ends before it arrives, or its worker has died.
 */
export class HeldMessage implements Visibility {
  readonly #ports: HoldPorts;
  readonly #delivery: Delivery;
  readonly #untilMs: number;
  #replaced = false;

  /** Create it when the message has just been received. */
  constructor(ports: HoldPorts, delivery: Delivery) {
    this.#ports = ports;
    this.#delivery = delivery;
    this.#untilMs = ports.clock.now() + (longestHoldSeconds - marginSeconds) * 1000;
  }

  async renew(delivery: Delivery, seconds: number): Promise<void> {
    if (this.#replaced) return;
    const { clock, queues } = this.#ports;
    if (clock.now() + seconds * 1000 > this.#untilMs) return this.#replace();
    await queues.hold(delivery.tier, [{ receiptHandle: delivery.receiptHandle, seconds }], delivery.runsOn);
  }

  /** Deletes the message. If that fails, it arrives again, and its task has ended then. */
  async remove(): Promise<void> {
    if (this.#replaced) return;
    await removeSafely(this.#ports, this.#delivery);
  }

  async #replace(): Promise<void> {
    await sendAgain(this.#ports, this.#delivery, longestDelaySeconds);
    this.#replaced = true;
  }
}

/**
 * Sends a message once more and deletes the received one. The new message has no receives: after too many of them,
 * redrive would make a dead letter of a task that nothing is wrong with.
 * @throws PortUnavailable when the new message could not be sent
 */
export async function sendAgain(ports: HoldPorts, delivery: Delivery, delaySeconds: number): Promise<void> {
  const parsed = parseEnvelope(delivery.body);
  if (!parsed.ok) return;
  const { envelope } = parsed;
  await ports.queues.send(sentAgain({ delivery, envelope, grant: delivery.grant }, { delaySeconds }));
  await removeSafely(ports, delivery);
}

/** Sends a message again that was not started. If the queue is not available, it arrives again when its hold ends. */
export const giveBack = (ports: HoldPorts, delivery: Delivery, delaySeconds = 0): Promise<void> =>
  sendAgain(ports, delivery, delaySeconds).catch((error: unknown) => {
    ports.log.warn("could not give a message back; it arrives again when its visibility time-out ends", {
      message_id: delivery.messageId,
      error: String(error),
    });
  });

const removeSafely = ({ workQueues, log }: HoldPorts, delivery: Delivery): Promise<void> =>
  workQueues.remove(delivery).catch((error: unknown) => {
    log.warn("could not delete a message; it arrives once more", {
      message_id: delivery.messageId,
      error: String(error),
    });
  });
