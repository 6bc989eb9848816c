import type { Tier } from "../core/model/words.ts";
import type { WorkQueues } from "../core/ports/queues.ts";
import type { Clock, Delivery } from "../core/ports/tasks.ts";
import type { MemoryQueues } from "./queues.ts";

/** The queues of container workers in memory. */
export class MemoryWorkQueues implements WorkQueues {
  readonly #queues: MemoryQueues;
  readonly #clock: Clock;

  constructor(queues: MemoryQueues, clock: Clock) {
    this.#queues = queues;
    this.#clock = clock;
  }

  async receive(
    tier: Tier,
    { max, waitSeconds, hideSeconds }: { max: number; waitSeconds: number; hideSeconds: number },
    signal: AbortSignal,
  ): Promise<Delivery[]> {
    const untilMs = this.#clock.now() + waitSeconds * 1000;
    for (;;) {
      const received = signal.aborted ? [] : this.#queues.take(tier, max, hideSeconds, "container");
      const leftMs = untilMs - this.#clock.now();
      if (received.length > 0 || leftMs <= 0 || signal.aborted) return received;
      const nextMs = this.#queues.nextVisibleAt(tier, "container") - this.#clock.now();
      await this.#change(Math.min(leftMs, nextMs), signal);
    }
  }

  async remove({ receiptHandle }: Delivery): Promise<void> {
    this.#queues.acknowledge(receiptHandle);
  }

  /** Resolves after `ms` milliseconds, or when a message is sent or made visible, or when the signal aborts. */
  async #change(ms: number, signal: AbortSignal): Promise<void> {
    const cleanups: (() => void)[] = [];
    await new Promise<void>((resolve) => {
      cleanups.push(this.#clock.after(ms, resolve), this.#queues.onChange(resolve));
      signal.addEventListener("abort", () => resolve());
    });
    for (const cleanup of cleanups) cleanup();
  }
}
