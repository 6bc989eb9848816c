import { within } from "../../../util/within.ts";
import { leaseSeconds } from "../../model/change.ts";
import { parseEnvelope } from "../../model/read-envelope.ts";
import type { Visibility, WorkQueues } from "../../ports/queues.ts";
import type { Clock, Delivery, Log, Queues } from "../../ports/tasks.ts";
import { Puller, timeoutOf } from "../../task/puller.ts";
import { longestDelaySeconds } from "../send/dispatch.ts";
import { hideSeconds } from "./batch-plan.ts";
import { holdMarginSeconds } from "./run-claimed.ts";
import { sentAgain } from "./unknown-type.ts";
import { pullerFor, runPulled } from "./work.ts";
import { begin, finish, readMessage, type WorkPorts } from "./work-message.ts";

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
class HeldMessage implements Visibility {
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
async function sendAgain(ports: HoldPorts, delivery: Delivery, delaySeconds: number): Promise<void> {
  const parsed = parseEnvelope(delivery.body);
  if (!parsed.ok) return;
  const { envelope } = parsed;
  await ports.queues.send(sentAgain({ delivery, envelope, ticket: delivery.ticket }, { delaySeconds }));
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

export interface ServePorts extends WorkPorts {
  workQueues: WorkQueues;
}

/**
 * Works on one message: claim → run → settle → delete. Never throws.
 * @param how `together`: other attempts run in this process.
 * @returns `alone`: the task's last attempt crashed, so it must run where no other attempt does. The message is still
 * held.
 */
export async function serveMessage(
  ports: ServePorts,
  delivery: Delivery,
  how: "together" | "alone",
): Promise<"ended" | "alone"> {
  if (delivery.solo && how === "together") return "alone";
  const held = new HeldMessage(ports, delivery);
  // A process that runs one task alone takes no others.
  const puller = how === "alone" ? new Puller(() => undefined) : pullerFor(ports, delivery);
  const working = { ...ports, puller };
  const message = await readMessage(working, delivery);
  if (message === "again") return "ended";
  if (message === "done") {
    await Promise.all([held.remove(), runPulled(working)]);
    return "ended";
  }
  const hidden = hideAtStart(ports, held, delivery, leaseSeconds(timeoutOf(message)) + holdMarginSeconds);
  const begun = await begin(working, held, message, how);
  if (begun.as === "crashed") {
    await hidden;
    return "alone";
  }
  const verdict = await finish(working, held, begun);
  await hidden;
  await Promise.all([verdict === "done" && held.remove(), runPulled(working)]);
  return "ended";
}

/**
 * Work does not wait for a queue that does not answer: then the message comes back after its first hold, and finds the
 * lease.
 */
const hideAtStart = (ports: ServePorts, held: HeldMessage, delivery: Delivery, seconds: number): Promise<void> =>
  within(
    ports.clock,
    hideSeconds * 1000,
    held.renew(delivery, seconds).catch((error: unknown) => {
      ports.log.warn("could not change the visibility of messages", { error: String(error) });
    }),
    () => {},
  );
