import { CallTimeout } from "./errors.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call with the signal's reason, also while it waits. */
  signal?: AbortSignal | undefined;
  /**
   * Time limit of the whole call in milliseconds, with its repeats and waits; then it throws `CallTimeout`. Default:
   * none.
   */
  timeoutMs?: number | undefined;
}

/** A signal that follows others until `end`, so that no listener stays on a signal that lives for long. */
export interface Limit {
  readonly signal: AbortSignal;
  end(): void;
}

/** Follows the signals that are defined. */
export function follow(...signals: readonly (AbortSignal | undefined)[]): Limit {
  const controller = new AbortController();
  const ended = new AbortController();
  for (const signal of signals) {
    const abort = () => controller.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort, { signal: ended.signal });
  }
  return { signal: controller.signal, end: () => ended.abort() };
}

/** The limits of a whole call. `errorOf` turns the end of its time into `CallTimeout`. */
export function limitOf({ signal, timeoutMs }: CallOptions): Limit & { errorOf(error: unknown): unknown } {
  const time = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const errorOf = (error: unknown) =>
    time?.aborted && error === time.reason
      ? new CallTimeout(`the call took longer than its timeoutMs of ${timeoutMs}`, { cause: error })
      : error;
  return { ...follow(signal, time), errorOf };
}

/** Runs a call within its limits. */
export async function within<T>(options: CallOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = limitOf(options);
  try {
    return await call(limit.signal);
  } catch (error) {
    throw limit.errorOf(error);
  } finally {
    limit.end();
  }
}

/** Waits. Rejects with the signal's reason. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(stop, ms);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
  });
}
