/** Tells listeners that a queue has visible messages: soon, not at once, and once for many messages sent together. */
export class Availability {
  readonly #listeners = new Set<() => void>();
  readonly #isAvailable: () => boolean;
  #announced = false;

  constructor(isAvailable: () => boolean) {
    this.#isAvailable = isAvailable;
  }

  /** Gives the way to stop listening. */
  listen(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  /** To be called after messages became visible. */
  announce(): void {
    if (this.#announced || this.#listeners.size === 0) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      for (const listener of [...this.#listeners]) if (this.#isAvailable()) listener();
    });
  }

  /** Resolves when there are visible messages, at once if there are, or when the signal aborts. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || this.#isAvailable()) {
        resolve();
        return;
      }
      const stop = this.listen(done);
      signal?.addEventListener("abort", done);
      function done() {
        stop();
        signal?.removeEventListener("abort", done);
        resolve();
      }
    });
  }
}
