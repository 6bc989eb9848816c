import type { DeployedPayload, PurgePayload } from "./rule-input.ts";

/** The payload with which fire hears that a deployment has ended. */
export const deployedPayload: DeployedPayload = { kind: "deployed" };

/** The end of a deployment of a stack, or of its roll-back, as CloudFormation tells EventBridge. */
export const deployedPattern = (stackId: string) => ({
  source: ["aws.cloudformation"],
  "detail-type": ["CloudFormation Stack Status Change"],
  detail: {
    "stack-id": [stackId],
    "status-details": { status: ["UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"] },
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
