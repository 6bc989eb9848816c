import type { Clock } from "../../core/ports/tasks.ts";

/** The alarm looks at the clock at least this often, because timers stop while the machine is suspended. */
const maxWaitMs = 30_000;

/** A timer for one time of the clock. It can be set again before it rings. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #at = Number.POSITIVE_INFINITY;
  #cancelTimer = () => {};

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Epoch milliseconds at which the alarm rings. */
  get at(): number {
    return this.#at;
  }

  /** Rings at this time, or in 30 seconds if that is earlier. Replaces the time that was set before. */
  set(time = Number.POSITIVE_INFINITY): void {
    this.cancel();
    const now = this.#clock.now();
    this.#at = Math.min(time, now + maxWaitMs);
    this.#cancelTimer = this.#clock.after(Math.max(this.#at - now, 0), this.#ring);
  }

  cancel(): void {
    this.#cancelTimer();
  }
}
