import type { Tier } from "../../model/tier.ts";
import type { Delivery } from "../../ports/tasks.ts";
import { Drain } from "./drain.ts";
import { Bell, firstHoldSeconds, Intake } from "./intake.ts";
import { giveBack, type ServePorts, serveMessage } from "./serve-message.ts";

/**
 * A message whose task must run alone waits for this time, in milliseconds, while another one runs alone. Then it is
 * given back.
 */
const aloneWaitMs = 30_000;

/** Delay of a message that was given back after that wait, in seconds. */
const aloneDelaySeconds = 30;

/** A worker with free places that got no answer of a queue for this time, in milliseconds, is stalled. */
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
  /** True while a task runs alone: it takes a place, but a stop does not wait for it. */
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

  /** Number of taken places. */
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
    this.#intake.placeFreed();
  }

  /**
   * Lets tasks run alone one after the other. A task that waits for too long is given back, so that its place is free
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
