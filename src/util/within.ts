interface Timers {
  /** Calls `work` after `ms` milliseconds. Returns what stops that. */
  after(ms: number, work: () => void): () => void;
}

/**
 * Returns the work's result, or after `ms` milliseconds that of `late`. The work goes on then, and its end is ignored.
 */
export async function within<T>(clock: Timers, ms: number, work: Promise<T>, late: () => T): Promise<T> {
  let stop = () => {};
  const over = new Promise<void>((resolve) => {
    stop = clock.after(ms, resolve);
  });
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    stop();
  }
}
