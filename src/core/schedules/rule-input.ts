import type { ScheduleKey } from "./schedule-record.ts";

/** Payload of a tenant's rule for fire. It only identifies the schedule: the record says what to submit. */
export interface SchedulePayload extends ScheduleKey {
  kind: "schedule";
  /** The record's `rule_revision` when the rule was created. */
  rule_revision: number;
}

/** Payload of an app schedule's rule for fire. */
export interface AppPayload {
  kind: "app_schedule";
  name: string;
}

/** Payload of the daily rule that makes fire submit the task that deletes stored objects. */
export interface PurgePayload {
  kind: "purge_blobs";
}

/** Payload for fire at the end of a deployment: it looks at the lines. */
export interface DeployedPayload {
  kind: "deployed";
}

/** Message that makes fire check a schedule's rule against its record. */
export interface RuleCheck extends ScheduleKey {
  kind: "rule_check";
}

/** EventBridge Scheduler replaces this text with the scheduled time. */
export const scheduledTime = "<aws.scheduler.scheduled-time>";

/** Returns the input of a rule's target: the payload and the scheduled time. */
export const ruleInput = (payload: SchedulePayload | AppPayload | PurgePayload): string =>
  JSON.stringify({ ...payload, scheduled_for: scheduledTime });
