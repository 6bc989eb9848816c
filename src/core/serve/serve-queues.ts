import type { Delivery } from "../ports.ts";
import type { Tier } from "../tier.ts";
import { Bell } from "./bell.ts";
import { giveBack } from "./held-message.ts";
import { firstHoldSeconds, Intake } from "./intake.ts";
import { type ServePorts, serveMessage } from "./serve-message.ts";

/** A message whose task must run alone waits for this time, in milliseconds, while another one runs alone. Then it is given back. */
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
  /** Seconds for which running attempts may go on after a stop. Then they are given back. */
  drainSeconds: number;
  /** Works on a message where no other attempt runs. Never throws. */
  runAlone(delivery: Delivery): Promise<void>;
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
  /** The running attempts' callbacks, which give them back. */
  readonly #givesBack = new Set<() => void>();
  #givingBack = false;
  readonly #running = new Set<Promise<void>>();
  /** Messages that run alone, or wait for it: they take places, but a stop does not wait for them. */
  #alone = 0;
  #aloneBusy = false;
  #stopTimer = () => {};

  constructor(ports: ServePorts, options: ServeOptions) {
    this.#ports = { ...ports, onStopping: (call) => this.#onStopping(call) };
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

  /** Number of tasks that have a place. */
  get running(): number {
    return this.#running.size + this.#alone;
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
    this.#stopTimer();
  }

  /** Starts no task any more. Running attempts go on for `drainSeconds`. */
  stop(): void {
    if (this.#stopped.signal.aborted) return;
    this.#stopped.abort();
    this.#bell.ring();
    this.#stopTimer = this.#ports.clock.after(this.#options.drainSeconds * 1000, () => this.#giveBackAll());
  }

  #giveBackAll(): void {
    this.#givingBack = true;
    for (const call of [...this.#givesBack]) call();
  }

  #onStopping(call: () => void): () => void {
    if (this.#givingBack) call();
    else this.#givesBack.add(call);
    return () => this.#givesBack.delete(call);
  }

  #start(delivery: Delivery): void {
    const work = serveMessage(this.#ports, delivery, "together").then((outcome) => {
      this.#running.delete(work);
      if (outcome === "alone") void this.#runAlone(delivery);
      else this.#placeFreed();
    });
    this.#running.add(work);
    this.#options.onRunning?.(this.running);
  }

  #placeFreed(): void {
    this.#options.onRunning?.(this.running);
    this.#intake.placeFreed();
  }

  /** Runs tasks alone one after the other. One that waits for too long is given back, so that its place is free for others. */
  async #runAlone(delivery: Delivery): Promise<void> {
    this.#alone += 1;
    if (await this.#turnAlone(delivery)) {
      await this.#options.runAlone(delivery);
      this.#aloneBusy = false;
      this.#bell.ring();
    } else {
      const delaySeconds = this.#stopped.signal.aborted ? 0 : aloneDelaySeconds;
      await giveBack(this.#ports, { ...delivery, solo: true }, delaySeconds);
    }
    this.#alone -= 1;
    this.#placeFreed();
  }

  async #turnAlone({ tier, receiptHandle, runsOn }: Delivery): Promise<boolean> {
    const { clock, queues } = this.#ports;
    const untilMs = clock.now() + aloneWaitMs;
    // If that fails, the message arrives once more, and its claim decides.
    await queues.hold(tier, [{ receiptHandle, seconds: firstHoldSeconds }], runsOn).catch(() => {});
    while (this.#aloneBusy && clock.now() < untilMs && !this.#stopped.signal.aborted) {
      await this.#bell.heard(untilMs - clock.now());
    }
    if (this.#aloneBusy || this.#stopped.signal.aborted) return false;
    this.#aloneBusy = true;
    return true;
  }
}
