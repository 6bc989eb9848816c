import { Metrics as Emf } from "@aws-lambda-powertools/metrics";
import { type MetricName, type MetricOf, metricNamespace, metricTable } from "../core/metrics.ts";
import type { Metrics } from "../core/ports.ts";

/** Metrics that are collected during an invocation. */
export interface StoredMetrics extends Metrics {
  /** Writes them. Call this when the invocation ends. */
  flush(): void;
}

/**
 * Creates a function's metrics, in CloudWatch's embedded metric format: one log line for each tier of an invocation's tasks,
 * and one for each of their types. On the local server no metrics are written.
 * @param serviceName The deployment's name, which separates its metrics from those of other deployments. Default: the value of
 * `POWERTOOLS_SERVICE_NAME`.
 */
export function createMetrics(env: NodeJS.ProcessEnv = process.env, serviceName?: string): StoredMetrics {
  if (env.OFFLOAD_LOG === "text") return { add: () => {}, flush: () => {} };
  const emitters = new Map<string, Emf>();
  const emitterOf = (dimensions: Record<string, string>): Emf => {
    const key = Object.values(dimensions).join("\n");
    const options = { namespace: metricNamespace, defaultDimensions: dimensions, ...(serviceName && { serviceName }) };
    const emitter = emitters.get(key) ?? new Emf(options);
    emitters.set(key, emitter);
    return emitter;
  };
  return {
    add: (name: MetricName, value: number, { tier, type }: MetricOf) => {
      const { unit, byType } = metricTable[name];
      emitterOf({ tier }).addMetric(name, unit, value);
      if (byType) emitterOf({ tier, type }).addMetric(name, unit, value);
    },
    flush: () => {
      for (const emitter of emitters.values()) if (emitter.hasStoredMetrics()) emitter.publishStoredMetrics();
    },
  };
}
