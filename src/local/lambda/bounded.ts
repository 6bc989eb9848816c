/** Calls of which a number runs at the same time, at most. The others wait, in their order. */
export class Bounded {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(max: number) {
    this.#most = max;
  }

  /** Number of calls that wait or run. */
  get open(): number {
    return this.#running + this.#waiting.length;
  }

  /** Resolves when a call would run at once. */
  free(): Promise<void> {
    return this.run(() => Promise.resolve());
  }

  /** A call that ends passes its turn to the first that waits: none that comes meanwhile goes before it. */
  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.#running < this.#most) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}
