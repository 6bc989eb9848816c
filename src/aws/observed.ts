import type { Tracing } from "../core/ports/tasks.ts";
import type { StoredMetrics } from "./metrics.ts";

/** Tracing that collects spans during an invocation. */
export interface SentTracing extends Tracing {
  /** Sends the spans. Call this when the invocation ends. Never throws. */
  flush(): Promise<void>;
}

/** The ports that are flushed at the end of an invocation. */
export interface Observed {
  metrics?: StoredMetrics;
  tracing?: SentTracing;
}

/**
 * Wraps a handler so that it writes its metrics and sends its spans before it answers, even when it fails. After the
 * answer, Lambda can freeze the process.
 */
export const observed =
  <Args extends unknown[], Answer>({ metrics, tracing }: Observed, handler: (...args: Args) => Promise<Answer>) =>
  (...args: Args): Promise<Answer> =>
    handler(...args).finally(async () => {
      metrics?.flush();
      await tracing?.flush();
    });
