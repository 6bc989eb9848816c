import type { Tier } from "./words.ts";

/** The CloudWatch namespace of all of Offload's own metrics. */
export const metricNamespace = "Offload";

/**
 * The metrics, in CloudWatch's units. Each combination of dimensions is billed as a metric of its own, so there are
 * few: `service` (the deployment) with `tier`; metrics with `byType` also `service`, `tier` and `type`. Never an id.
 */
export const metricTable = {
  /** Accepted tasks. */
  submitted: { unit: "Count", byType: false },
  /**
   * Batches of submits of which no task was accepted, for a reason that passes, such as a full tier. Their answer is
   * 202. In the tier `normal`.
   */
  batch_refused: { unit: "Count", byType: false },
  /** Attempts that started. */
  started: { unit: "Count", byType: false },
  /** Tasks that completed. */
  completed: { unit: "Count", byType: true },
  /** Tasks that failed permanently. */
  failed: { unit: "Count", byType: true },
  /** Attempts that another attempt follows. */
  retried: { unit: "Count", byType: false },
  /** Attempts that were suspended, and go on later. */
  suspended: { unit: "Count", byType: false },
  /** Tasks that could not start because of a pause, a breaker or a limit of their type, and wait in a line. */
  parked: { unit: "Count", byType: false },
  /**
   * Looks at the line of a breaker that found it open, and tasks that wait. All tenants and types count in the tier
   * `normal`.
   */
  breaker_open: { unit: "Count", byType: false },
  /** Age of a pause for which tasks wait, as a look at their line finds it. In the tier `normal`. */
  pause_age_ms: { unit: "Milliseconds", byType: false },
  /**
   * Time for which the next task of a limit's line has waited, as a look at the line finds it. In the tier `normal`.
   */
  line_wait_ms: { unit: "Milliseconds", byType: false },
  /** Attempts whose worker died. */
  crashed: { unit: "Count", byType: false },
  /** Attempts that took longer than their type allows. */
  timed_out: { unit: "Count", byType: false },
  /** Tasks that were cancelled while an attempt ran. */
  cancelled: { unit: "Count", byType: false },
  /**
   * Errors that nobody caught: of a task's code after its attempt had ended, as are calls of its context; and of code
   * that belongs to no task. The latter ones of container workers are in the tier `normal`.
   */
  stray_errors: { unit: "Count", byType: false },
  /** Messages of tasks that had ended, or whose attempt was running. */
  duplicates: { unit: "Count", byType: false },
  /** Attempts that failed because another service limits their rate. */
  throttled: { unit: "Count", byType: false },
  /** Messages sent to the tier's DLQ. */
  dead_lettered: { unit: "Count", byType: false },
  /** Dead letters whose type had none with this class of error in the last day. In the tier `normal`. */
  new_failure: { unit: "Count", byType: false },
  /** Tasks of schedules and triggers that could not be submitted, and firings that could not be read. */
  schedule_refused: { unit: "Count", byType: false },
  /**
   * Scheduled times without a task: too late, over a limit, or the third or a later one in a row that came while the
   * last task ran. Not those of a pause.
   */
  schedule_missed: { unit: "Count", byType: false },
  /**
   * Times without a task of a schedule with an alarm of its own. `type` is the schedule's name. In the tier `normal`.
   */
  watched_schedule_missed: { unit: "Count", byType: true },
  /** Webhooks that their receiver accepted. */
  webhook_delivered: { unit: "Count", byType: false },
  /** Tries of webhooks that another try follows. */
  webhook_retried: { unit: "Count", byType: false },
  /** Webhooks that were given up. */
  webhook_failed: { unit: "Count", byType: false },
  /** Receivers of webhooks that have failed for four days, and receivers that were disabled after five. */
  receiver_failing: { unit: "Count", byType: false },
  /** Time of one try of a webhook. */
  webhook_ms: { unit: "Milliseconds", byType: false },
  /** Parents that began to wait for their children. */
  family_waits: { unit: "Count", byType: false },
  /** Parents whose children have all ended. A parent that is cancelled while it waits is not counted. */
  family_closed: { unit: "Count", byType: false },
  /** Time from the end of the attempt that spawned the children to the end of the last child. */
  family_wait_ms: { unit: "Milliseconds", byType: false },
  /** Time from an attempt's due time to its start. */
  queue_wait_ms: { unit: "Milliseconds", byType: false },
  /** Time from an attempt's start to its end. */
  processing_ms: { unit: "Milliseconds", byType: true },
} as const satisfies Record<string, { unit: "Count" | "Milliseconds"; byType: boolean }>;

export type MetricName = keyof typeof metricTable;

/** Dimensions of a measurement. */
export interface MetricOf {
  tier: Tier;
  /** Name of a task type that the deployment knows, or of a schedule in its code. */
  type: string;
}
