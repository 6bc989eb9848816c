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

/** A signal that follows another one until `end`, so that no listener stays on a signal that lives for long. */
export interface Limit {
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Follows a signal, and fires after a time with an error. React Native has no `AbortSignal.timeout`, and its signals
 * have no reasons and cannot end listeners.
 */
export function follow(signal: AbortSignal | undefined, ms: number | undefined, late: () => Error): Limit {
  const controller = new AbortController();
  const own = controller.signal;
  const fire = (reason: unknown) => {
    if (!("reason" in own)) Object.assign(own, { reason });
    controller.abort(reason);
  };
  const stop = () => fire(signal?.reason ?? new Error("aborted"));
  const timer = ms === undefined ? undefined : setTimeout(() => fire(late()), Math.min(ms, 2_147_483_647));
  // A timer fires at once with more milliseconds. In Node, a call that nobody waits for holds no process.
  (timer as { unref?: () => void } | undefined)?.unref?.();
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  };
  return { signal: own, end };
}

/** The limits of a whole call: its signal fires with a `CallTimeout` at the end of its time. */
export const limitOf = ({ signal, timeoutMs }: CallOptions): Limit =>
  follow(signal, timeoutMs, () => new CallTimeout(`the call took longer than its timeoutMs of ${timeoutMs}`));

/** Runs a call within its limits. */
export async function within<T>(options: CallOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = limitOf(options);
  try {
    return await call(limit.signal);
  } finally {
    limit.end();
  }
}

/** @throws the reason of a signal that has fired */
export function mustGoOn(signal: AbortSignal): void {
  if (signal.aborted) throw signal.reason;
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
