import type { Clock } from "../ports/tasks.ts";

/** Wakes the calls that wait for a change. */
export class Bell {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves at the next ring, or after `ms` milliseconds. */
  async heard(ms = Number.POSITIVE_INFINITY): Promise<void> {
    let stop = () => {};
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (ms < Number.POSITIVE_INFINITY) stop = this.#clock.after(ms, resolve);
    });
    stop();
  }

  ring(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
