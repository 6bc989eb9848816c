import { within } from "../../../util/within.ts";
import { leaseSeconds } from "../../model/change.ts";
import { parseEnvelope } from "../../model/read-envelope.ts";
import type { Tier } from "../../model/words.ts";
import type { Visibility, WorkQueues } from "../../ports/queues.ts";
import type { Clock, Delivery, Log, Queues } from "../../ports/tasks.ts";
import { Puller, timeoutOf } from "../../task/puller.ts";
import { longestDelaySeconds } from "../send/dispatch.ts";
import { hideSeconds } from "./batch-plan.ts";
import { Bell, firstHoldSeconds, Intake } from "./intake.ts";
import { holdMarginSeconds, sentAgain } from "./run-claimed.ts";
import { Drain, pullerFor, runPulled } from "./work.ts";
import { begin, finish, readMessage, type WorkPorts } from "./work-message.ts";

/**
 * A message whose task must run alone waits for this time, in milliseconds, while another one runs alone. Then it is
 * given back.
 */
const aloneWaitMs = 30_000;

/** Delay of a message that was given back after that wait, in seconds. */
const aloneDelaySeconds = 30;

/** A worker with free slots that got no answer of a queue for this time, in milliseconds, is stalled. */
const stalledMs = 120_000;

export interface ServeOptions {
  /** Most urgent first. */
  tiers: readonly Tier[];
  /** Number of attempts at the same time. */
  concurrency: number;
  /** Works on a message where no other attempt runs. Never throws. */
  runAlone(delivery: Delivery): Promise<void>;
  /**
   * Called when this process has to end, as an attempt in it did not stop: `run` resolves when the others are given
   * back.
   */
  onInterrupted?(): void;
  /** Called with the number of running attempts after each change. */
  onRunning?(running: number): void;
}

/** A worker that takes tasks of its tiers until it is told to stop. */
export class QueueServer {
  readonly #ports: ServePorts;
  readonly #options: ServeOptions;
  readonly #intake: Intake;
  readonly #bell: Bell;
  readonly #stopped = new AbortController();
  readonly #drain: Drain;
  readonly #running = new Set<Promise<void>>();
  /** True while a task runs alone: it takes a slot, but a stop does not wait for it. */
  #isAlone = false;

  constructor(ports: ServePorts, options: ServeOptions) {
    this.#drain = new Drain(ports.clock);
    const { onStopping, isStopping } = this.#drain;
    this.#ports = { ...ports, onStopping, isStopping, endProcess: () => this.#interrupt() };
    this.#options = options;
    this.#bell = new Bell(ports.clock);
    this.#intake = new Intake({
      ...ports,
      tiers: options.tiers,
      free: () => options.concurrency - this.running,
      start: (delivery) => this.#start(delivery),
      giveBack: (delivery) => giveBack(this.#ports, delivery),
      stopped: this.#stopped.signal,
    });
  }

  /** Number of taken slots. */
  get running(): number {
    return this.#running.size + (this.#isAlone ? 1 : 0);
  }

  /** True when it could start tasks, but no queue has answered for two minutes. */
  get stalled(): boolean {
    const isFull = this.running >= this.#options.concurrency;
    return !isFull && this.#ports.clock.now() - this.#intake.lastReceiveAt > stalledMs;
  }

  /** Takes tasks until `stop` is called. Resolves when every attempt has ended or is given back. */
  async run(): Promise<void> {
    await this.#intake.run();
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#drain.end();
  }

  /** Starts no task any more. Running attempts go on for the given seconds, then they are given back. */
  stop(drainSeconds: number): void {
    this.#stopped.abort();
    this.#bell.ring();
    this.#drain.begin(drainSeconds);
  }

  #interrupt(): void {
    this.#stopped.abort();
    this.#bell.ring();
    this.#drain.now();
    this.#options.onInterrupted?.();
  }

  #start(delivery: Delivery): void {
    this.#track(
      serveMessage(this.#ports, delivery, "together").then((outcome) => {
        if (outcome === "alone") return this.#turnAlone(delivery);
      }),
    );
    this.#options.onRunning?.(this.running);
  }

  #track(work: Promise<void>): void {
    this.#running.add(work);
    void work.then(() => {
      this.#running.delete(work);
      this.#placeFreed();
    });
  }

  #placeFreed(): void {
    this.#options.onRunning?.(this.running);
    this.#intake.slotFreed();
  }

  /**
   * Lets tasks run alone one after the other. A task that waits for too long is given back, so that its slot is free
   * for others.
   */
  async #turnAlone(delivery: Delivery): Promise<void> {
    const { clock, queues } = this.#ports;
    const { tier, receiptHandle, runsOn } = delivery;
    const untilMs = clock.now() + aloneWaitMs;
    // If that fails, the message arrives once more, and its claim decides.
    await queues.hold(tier, [{ receiptHandle, seconds: firstHoldSeconds }], runsOn).catch(() => {});
    while (this.#isAlone && clock.now() < untilMs && !this.#stopped.signal.aborted) {
      await this.#bell.heard(untilMs - clock.now());
    }
    const { aborted } = this.#stopped.signal;
    if (this.#isAlone || aborted) {
      return giveBack(this.#ports, { ...delivery, solo: true }, aborted ? 0 : aloneDelaySeconds);
    }
    this.#isAlone = true;
    void this.#options.runAlone(delivery).then(() => {
      this.#isAlone = false;
      this.#bell.ring();
      this.#placeFreed();
    });
  }
}

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
