import { Metrics as Emf } from "@aws-lambda-powertools/metrics";
import { type MetricName, type MetricOf, metricNamespace, metricTable } from "../core/model/metrics.ts";
import type { Tier } from "../core/model/tier.ts";
import type { Metrics } from "../core/ports/tasks.ts";
import { localConfig } from "./local-services.ts";

/** Metrics that are collected during an invocation. */
export interface StoredMetrics extends Metrics {
  /** Writes them. Call this when the invocation ends. */
  flush(): void;
}

/**
 * Creates a function's metrics, in CloudWatch's embedded metric format: one log line for each tier of an invocation's
 * tasks, and one for each of their types. The local server gets those of the tiers in its own way.
 * @param serviceName The deployment's name, which separates its metrics from those of other deployments. Default: the
 * value of `POWERTOOLS_SERVICE_NAME`.
 */
export function createMetrics(env: NodeJS.ProcessEnv = process.env, serviceName?: string): StoredMetrics {
  if (env.OFFLOAD_LOG === "text") return localMetrics(env);
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

/** Hands the measurements of each invocation to the local server, if there is one. Without an answer they are lost. */
function localMetrics(env: NodeJS.ProcessEnv): StoredMetrics {
  const { endpoint } = localConfig("cloudwatch", env) as { endpoint?: string };
  const values = new Map<string, { name: MetricName; tier: Tier; values: number[] }>();
  return {
    add: (name, value, { tier }) => {
      const key = `${name} ${tier}`;
      const known = values.get(key) ?? { name, tier, values: [] };
      known.values.push(value);
      values.set(key, known);
    },
    flush: () => {
      const body = JSON.stringify([...values.values()]);
      if (endpoint !== undefined && values.size > 0) {
        fetch(`${endpoint}/_local/metrics`, { method: "POST", body }).catch(() => {});
      }
      values.clear();
    },
  };
}
