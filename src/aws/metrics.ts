import { type MetricName, metricNamespace, metricTable } from "../core/model/metrics.ts";
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
  const service = serviceName || env.POWERTOOLS_SERVICE_NAME || "service_undefined";
  const lines = new Map<string, MetricLine>();
  const put = (dimensions: Record<string, string>, name: MetricName, value: number) => {
    const key = Object.values(dimensions).join("\n");
    const line = lines.get(key) ?? { dimensions: { service, ...dimensions }, values: new Map() };
    lines.set(key, line);
    const values = line.values.get(name) ?? [];
    line.values.set(name, values);
    if (values.push(value) < mostValues) return;
    lines.delete(key);
    write(line);
  };
  return {
    add: (name, value, { tier, type }) => {
      put({ tier }, name, value);
      if (metricTable[name].byType) put({ tier, type }, name, value);
    },
    flush: () => {
      for (const line of lines.values()) write(line);
      lines.clear();
    },
  };
}

/** Values with the same dimensions, which one line has. */
interface MetricLine {
  readonly dimensions: Readonly<Record<string, string>>;
  readonly values: Map<MetricName, number[]>;
}

/** CloudWatch takes at most so many values of a metric in a line. */
const mostValues = 100;

function write({ dimensions, values }: MetricLine): void {
  const metrics = [...values.keys()].map((name) => ({ Name: name, Unit: metricTable[name].unit }));
  const all = [...values].map(([name, list]) => [name, list.length === 1 ? list[0] : list]);
  const line = {
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [{ Namespace: metricNamespace, Dimensions: [Object.keys(dimensions)], Metrics: metrics }],
    },
    ...dimensions,
    ...Object.fromEntries(all),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** A measurement for the local server. */
type LocalValue = { name: MetricName; tier: Tier; values: number[] };

/** Without an answer they are lost. */
let handOver = (measured: readonly LocalValue[], env: NodeJS.ProcessEnv): void => {
  const { endpoint } = localConfig("cloudwatch", env) as { endpoint?: string };
  if (endpoint === undefined) return;
  fetch(`${endpoint}/_local/metrics`, { method: "POST", body: JSON.stringify(measured) }).catch(() => {});
};

/** Sets another way of measurements to the local server than a request. Only its own processes do so. */
export function handOverBy(way: typeof handOver): void {
  handOver = way;
}

/** Hands the measurements of each invocation to the local server, if there is one. */
function localMetrics(env: NodeJS.ProcessEnv): StoredMetrics {
  let measured: LocalValue[] = [];
  return {
    add: (name, value, { tier }) => measured.push({ name, tier, values: [value] }),
    flush: () => {
      if (measured.length > 0) handOver(measured, env);
      measured = [];
    },
  };
}
