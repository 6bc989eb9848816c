/** Notifies listeners that a queue has visible messages: in a microtask, and once for many messages sent together. */
export class Availability {
  readonly #listeners = new Set<() => void>();
  readonly #isAvailable: () => boolean;
  #announced = false;

  constructor(isAvailable: () => boolean) {
    this.#isAvailable = isAvailable;
  }

  /** Returns a function that ends the listening. */
  listen(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  /** Call this after messages became visible. */
  announce(): void {
    if (this.#announced || this.#listeners.size === 0) return;
    this.#announced = true;
    queueMicrotask(() => {
      this.#announced = false;
      for (const listener of [...this.#listeners]) if (this.#isAvailable()) listener();
    });
  }

  /** Resolves when there are visible messages, or when the signal aborts. */
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
