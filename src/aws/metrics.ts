import { type MetricName, metricNamespace, metricTable } from "../core/model/metrics.ts";
import type { Tier } from "../core/model/words.ts";
import type { Metrics } from "../core/ports/tasks.ts";

/** Metrics that are collected during an invocation. */
export interface StoredMetrics extends Metrics {
  /** Writes them. Call this when the invocation ends. */
  flush(): void;
}

/** Values of one dimension set, by metric. */
type Values = Map<MetricName, number[]>;

/** Measurements of a tier, and of its types for the metrics that have types. */
interface Measured {
  readonly values: Values;
  readonly types: Map<string, Values>;
}

/** CloudWatch takes at most so many values of a metric in a line. */
const maxValues = 100;

/**
 * Creates a function's metrics, in CloudWatch's embedded metric format: one log line for each tier of an invocation's
 * tasks, which also has those of their type. Where a tier has tasks of several types, each type has a line of its own.
 * The local server gets the metrics of tiers in its own way.
 * @param serviceName The deployment's name, which separates its metrics from those of other deployments. Default: the
 * value of `POWERTOOLS_SERVICE_NAME`.
 */
export function createMetrics(env: NodeJS.ProcessEnv = process.env, serviceName?: string): StoredMetrics {
  const service = serviceName || env.POWERTOOLS_SERVICE_NAME;
  const measured = new Map<Tier, Measured>();
  /** The first line of a process says how long it took to start. */
  let start: object = { init_ms: Math.ceil(process.uptime() * 1e3) };
  const write = (tier: Tier, one: Measured) => {
    if (env.OFFLOAD_LOG === "text") {
      for (const [name, values] of one.values) handOver([{ name, tier, values }], env);
      return;
    }
    for (const line of linesOf({ service, tier }, one)) {
      process.stdout.write(`${JSON.stringify({ ...line, ...start })}\n`);
      start = {};
    }
  };
  return {
    add: (name, value, { tier, type }) => {
      const one = entryOf(measured, tier, () => ({ values: new Map(), types: new Map() }));
      const count = entryOf(one.values, name, (): number[] => []).push(value);
      if (metricTable[name].byType) {
        const own = entryOf(one.types, type, (): Values => new Map());
        entryOf(own, name, (): number[] => []).push(value);
      }
      if (count < maxValues) return;
      measured.delete(tier);
      write(tier, one);
    },
    flush: () => {
      for (const [tier, one] of measured) write(tier, one);
      measured.clear();
    },
  };
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const entry = map.get(key) ?? make();
  map.set(key, entry);
  return entry;
}

const ofTier = ["service", "tier"];
const ofType = ["service", "tier", "type"];

/** The line of a tier, which is also that of its type if it has one only, and the lines of several types. */
function linesOf(tier: object, { values, types }: Measured): object[] {
  const names = [...values.keys()];
  const [first, other] = types;
  if (first && !other) {
    const [type, own] = first;
    const rest = names.filter((name) => !own.has(name));
    return [lineOf({ ...tier, type }, values, [directive(own.keys(), ofTier, ofType), directive(rest, ofTier)])];
  }
  const lines = [...types].map(([type, own]) => lineOf({ ...tier, type }, own, [directive(own.keys(), ofType)]));
  return [lineOf(tier, values, [directive(names, ofTier)]), ...lines];
}

/** The metrics that have these sets of dimensions. */
const directive = (names: Iterable<MetricName>, ...sets: string[][]) => ({
  Namespace: metricNamespace,
  Dimensions: sets,
  Metrics: [...names].map((name) => ({ Name: name, Unit: metricTable[name].unit })),
});

const lineOf = (dimensions: object, values: Values, directives: readonly ReturnType<typeof directive>[]): object => ({
  _aws: { Timestamp: Date.now(), CloudWatchMetrics: directives.filter(({ Metrics }) => Metrics.length > 0) },
  ...dimensions,
  ...Object.fromEntries([...values].map(([name, list]) => [name, list.length === 1 ? list[0] : list])),
});

/** A measurement for the local server. */
type LocalValue = { name: MetricName; tier: Tier; values: number[] };

let handOver = (measured: readonly LocalValue[], env: NodeJS.ProcessEnv): void => {
  void import("./local-metrics.ts").then(({ sendMeasured }) => sendMeasured(measured, env));
};

/** Sets another way of measurements to the local server than a request. Only its own processes do so. */
export function handOverBy(way: typeof handOver): void {
  handOver = way;
}
