import type { ScheduleKey } from "./schedule-record.ts";

/**
 * State of a schedule of the app: all that its definition in the code does not say. A schedule for each tenant has one
 * for the whole deployment, whose tenant is `wholeDeployment`, and one for each tenant that differs. Absent: never
 * fired, never paused. Times are ISO 8601 UTC with milliseconds.
 */
export interface AppScheduleState extends ScheduleKey {
  /** Every writer: increases with each write. A write fails if the revision changed since its read. */
  revision: number;
  /** pause; resume removes them. Absent: not paused. */
  paused_since?: string;
  paused_by?: string;
  /** fire: the latest scheduled time that was decided, with a task or without one. Absent: none yet. */
  last_time?: string;
  /** fire: the schedule's interval at `last_time`. Absent: it had a cron, or an earlier release wrote this. */
  last_every_seconds?: number;
  /** fire: the latest scheduled time that got a task; run: time of the call. Absent: never. */
  last_run_at?: string;
  /** fire and run: id of the newest task. Absent: there is none, or this is the state of the whole deployment. */
  last_task_id?: string;
  /** fire: number of skipped times. */
  skipped: number;
  /** fire: the latest 32 skipped times, so that a second delivery of one finds the decision. */
  skips: string[];
  /** fire: reason of the last skip. Absent: there was none. */
  last_skip_reason?: string;
  /**
   * fire: reason why the task of a time was refused; removed by the next time that gets a task. Absent: it was not
   * refused.
   */
  last_error?: string;
  last_error_at?: string;
  /** Every writer. */
  updated_at: string;
}
