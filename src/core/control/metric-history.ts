import type { AlarmState, Tier } from "../model/words.ts";

/** The metrics of a history: those from which an operator sees what a deployment does and where it waits. */
export const historyMetrics = [
  { name: "submitted", statistic: "sum" },
  { name: "completed", statistic: "sum" },
  { name: "failed", statistic: "sum" },
  { name: "retried", statistic: "sum" },
  { name: "queue_wait_ms", statistic: "p50" },
  { name: "queue_wait_ms", statistic: "p95" },
  { name: "processing_ms", statistic: "p95" },
] as const;

/** Values of one metric of a tier. */
export interface MetricSeries {
  name: (typeof historyMetrics)[number]["name"];
  statistic: (typeof historyMetrics)[number]["statistic"];
  tier: Tier;
  /** Start of a period in epoch seconds, and the value. A period without measurements has none. Oldest first. */
  points: (readonly [seconds: number, value: number])[];
}

/** A time of the past, in whole periods. Epoch seconds. */
export interface MetricSpan {
  from: number;
  to: number;
  periodSeconds: number;
}

/** An alarm of the deployment. */
export interface AlarmView {
  name: string;
  state: AlarmState;
  description: string | null;
  /** Time since which it has this state. */
  since: string | null;
}

/** Measurements of a deployment. All methods throw `PortUnavailable`. */
export interface MetricHistory {
  series(span: MetricSpan): Promise<MetricSeries[]>;
  /** Alarms of the deployment, in the order of their names. The local server has none. */
  alarms(): Promise<AlarmView[]>;
}

/** Most values of a series. */
const maxPoints = 72;

/** The last hours up to now, in periods of whole minutes, at most 72 of them. */
export function spanOf(nowMs: number, hours: number): MetricSpan {
  const seconds = hours * 3600;
  const periodSeconds = Math.max(60, Math.ceil(seconds / maxPoints / 60) * 60);
  const to = Math.ceil(nowMs / 1000 / periodSeconds) * periodSeconds;
  return { from: to - Math.ceil(seconds / periodSeconds) * periodSeconds, to, periodSeconds };
}
