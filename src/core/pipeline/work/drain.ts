import type { Clock } from "../../ports/tasks.ts";

/**
 * Ends the running attempts of a process that has to end, without counting them: other workers start their tasks again.
 */
export class Drain {
  readonly #clock: Clock;
  readonly #attempts = new Set<() => void>();
  #over = false;
  #cancel = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls back when the attempts are to be given back, now if that time has come. Returns a function that ends this.
   */
  readonly onStopping = (call: () => void): (() => void) => {
    if (this.#over) call();
    else this.#attempts.add(call);
    return () => this.#attempts.delete(call);
  };

  /** True when what still ran is given back. */
  readonly isStopping = (): boolean => this.#over;

  /** Waits for the given seconds, then gives back what still runs. */
  begin(seconds: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(seconds * 1000, () => this.now());
  }

  /** Ends the drain: the attempts that still run are given back. */
  now(): void {
    this.#over = true;
    for (const call of [...this.#attempts]) call();
  }

  /** Ends the wait: nothing runs any more. */
  end(): void {
    this.#cancel();
  }
}
