import type { ScheduleKey } from "./schedule-record.ts";

/** What the rule of a tenant's schedule hands to fire: names, so that the record alone says what to do. */
export interface SchedulePayload extends ScheduleKey {
  kind: "schedule";
  /** What the rule was made from. */
  rule_revision: number;
}

/** What the rule of an app schedule hands to fire. */
export interface AppPayload {
  kind: "app_schedule";
  name: string;
}

/** What asks fire to make a schedule's rule follow its record. */
export interface RuleCheck extends ScheduleKey {
  kind: "rule_check";
}

/** What EventBridge Scheduler puts in the place of this text: the time that it fires for. */
const scheduledTime = "<aws.scheduler.scheduled-time>";

/** The input of a rule's target: its payload, and the scheduled time. */
export const ruleInput = (payload: SchedulePayload | AppPayload): string =>
  JSON.stringify({ ...payload, scheduled_for: scheduledTime });
