import type { Tier } from "./tier.ts";

/** The CloudWatch namespace of all of Offload's own metrics. */
export const metricNamespace = "Offload";

/**
 * What is measured, in CloudWatch's units. Dimensions are few on purpose, each combination being billed as a metric of its own:
 * `service` (the deployment) with `tier`; and those `byType` besides with `service`, `tier` and `type`. Never an id.
 */
export const metricTable = {
  /** Tasks accepted, with the tier that they were submitted to. */
  submitted: { unit: "Count", byType: false },
  /** Attempts that started. */
  started: { unit: "Count", byType: false },
  /** Tasks that completed. */
  completed: { unit: "Count", byType: true },
  /** Tasks that failed for good. */
  failed: { unit: "Count", byType: true },
  /** Attempts that ended in another attempt's being dispatched. */
  retried: { unit: "Count", byType: false },
  /** Attempts whose worker died. */
  crashed: { unit: "Count", byType: false },
  /** Attempts that took longer than their type allows. */
  timed_out: { unit: "Count", byType: false },
  /** Tasks that were cancelled while an attempt ran. */
  cancelled: { unit: "Count", byType: false },
  /** Messages of tasks that had ended, or were being worked on. */
  duplicates: { unit: "Count", byType: false },
  /** Attempts that another service had asked to come later. */
  throttled: { unit: "Count", byType: false },
  /** Messages that went into the tier's DLQ. */
  dead_lettered: { unit: "Count", byType: false },
  /** Scheduled tasks that could not be submitted. */
  schedule_refused: { unit: "Count", byType: false },
  /** From when an attempt was due to its start. */
  queue_wait_ms: { unit: "Milliseconds", byType: false },
  /** From an attempt's start to its end. */
  processing_ms: { unit: "Milliseconds", byType: true },
} as const satisfies Record<string, { unit: "Count" | "Milliseconds"; byType: boolean }>;

export type MetricName = keyof typeof metricTable;

/** Whose a measurement is. */
export interface MetricOf {
  tier: Tier;
  /** Name of the task type: one that the deployment knows. */
  type: string;
}
