import type { Tracing } from "../core/ports.ts";
import type { StoredMetrics } from "./metrics.ts";

/** Tracing whose spans are sent when an invocation ends. */
export interface SentTracing extends Tracing {
  /** Never throws: spans that cannot be sent fail nothing. */
  flush(): Promise<void>;
}

/** What an invocation leaves to be written at its end. */
export interface Observed {
  metrics?: StoredMetrics;
  tracing?: SentTracing;
}

/** A handler that writes its metrics and sends its spans before it answers, whatever came of it: Lambda may freeze it then. */
export const observed =
  <Args extends unknown[], Answer>({ metrics, tracing }: Observed, handler: (...args: Args) => Promise<Answer>) =>
  (...args: Args): Promise<Answer> =>
    handler(...args).finally(async () => {
      metrics?.flush();
      await tracing?.flush();
    });
