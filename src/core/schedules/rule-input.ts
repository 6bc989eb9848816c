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

/** Payload for fire at the start and end of a deployment: it notes the times, and at the end looks at the lines. */
export interface DeployedPayload {
  kind: "deployed";
  /** ISO 8601 UTC. */
  at: string;
  /** Offload's version. */
  version: string;
  /** The stack's status in CloudFormation. */
  status: string;
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

/** The payload with which fire hears that a deployment has started or ended. */
export const deployedPayload = (version: string, at: string, status: DeploymentTime): DeployedPayload => ({
  ...{ kind: "deployed", at, version, status },
});

/** The start of a deployment in CloudFormation, and its ends. */
const deploymentTimes = [
  "UPDATE_IN_PROGRESS",
  "CREATE_COMPLETE",
  "UPDATE_COMPLETE",
  "UPDATE_ROLLBACK_COMPLETE",
] as const;
type DeploymentTime = (typeof deploymentTimes)[number];

/** The members of CloudFormation's event that `deployedTemplate` names. */
export const deployedPaths = { at: "$.time", status: "$.detail.status-details.status" };

/** The payload as a rule makes it of CloudFormation's event. EventBridge puts quotes around the values. */
export const deployedTemplate = (version: string): string =>
  `{"kind":"deployed","at":<at>,"version":${JSON.stringify(version)},"status":<status>}`;

/** The start and end of a deployment of a stack, or of its roll-back, as CloudFormation tells EventBridge. */
export const deployedPattern = (stackId: string) => ({
  source: ["aws.cloudformation"],
  "detail-type": ["CloudFormation Stack Status Change"],
  detail: {
    "stack-id": [stackId],
    "status-details": { status: deploymentTimes },
  },
});

/**
 * The rule that makes fire submit the task that deletes objects, once a day. Its name differs from those of tenants'
 * and apps' schedules.
 */
export const purgeRule = {
  name: "offload.purge-blobs",
  /** At 00:20 UTC, so that the day that has just ended has its entries. */
  expression: "cron(20 0 * * ? *)",
  timezone: "UTC",
  payload: { kind: "purge_blobs" } satisfies PurgePayload,
};
