/** Calls of which a number runs at the same time, at most. The others wait, in their order. */
export class Bounded {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Number of calls that wait or run. */
  get open(): number {
    return this.#running + this.#waiting.length;
  }

  /** Resolves when a call would run at once. */
  async free(): Promise<void> {
    while (this.#running >= this.#most) await this.#next();
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    // Nothing may come between the look and the count.
    while (this.#running >= this.#most) await this.#next();
    this.#running += 1;
    try {
      return await call();
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
