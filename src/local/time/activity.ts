/** Counts what is under way. */
export class Activity {
  #open = 0;

  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** Counts a piece of work until it ends. */
  async during<T>(work: Promise<T>): Promise<T> {
    this.#open += 1;
    try {
      return await work;
    } finally {
      this.#open -= 1;
    }
  }
}
