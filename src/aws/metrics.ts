import { Metrics as Emf } from "@aws-lambda-powertools/metrics";
import { type MetricName, type MetricOf, metricNamespace, metricTable } from "../core/metrics.ts";
import type { Metrics } from "../core/ports.ts";

/** Metrics that are written when an invocation ends. */
export interface StoredMetrics extends Metrics {
  flush(): void;
}

/**
 * A function's metrics, in CloudWatch's embedded metric format: a log line for each tier that an invocation had to do with,
 * and one for each type, however many tasks it worked on. None on the local server, where nobody reads them.
 * `POWERTOOLS_SERVICE_NAME` is the deployment's name, which tells its metrics from another's.
 */
export function createMetrics(env: NodeJS.ProcessEnv = process.env): StoredMetrics {
  if (env.OFFLOAD_LOG === "text") return { add: () => {}, flush: () => {} };
  const emitters = new Map<string, Emf>();
  const emitterOf = (dimensions: Record<string, string>): Emf => {
    const key = Object.values(dimensions).join("\n");
    const emitter = emitters.get(key) ?? new Emf({ namespace: metricNamespace, defaultDimensions: dimensions });
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
