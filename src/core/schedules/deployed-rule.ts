import type { DeployedPayload } from "./rule-input.ts";

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
