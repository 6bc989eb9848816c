import { expect, test } from "vitest";
import { oneOffRequest } from "../../src/aws/one-offs.ts";

test("the request of a one-off has the exact second, deletes itself, and names a queue for what cannot be delivered", () => {
  const config = {
    scheduleGroup: "offload-dev",
    fireArn: "arn:aws:lambda:eu-central-1:1:function:fire",
    schedulerRoleArn: "arn:aws:iam::1:role/scheduler",
    schedulerDlqArn: "arn:aws:sqs:eu-central-1:1:scheduler-dlq",
  };
  const payload = { kind: "task", tenant_id: "acme", task_id: "t" } as const;
  expect(oneOffRequest(config, { name: "t.2", at: "2027-01-01T10:02:14.999Z", payload })).toEqual({
    Name: "t.2",
    GroupName: "offload-dev",
    ScheduleExpression: "at(2027-01-01T10:02:14)",
    ScheduleExpressionTimezone: "UTC",
    FlexibleTimeWindow: { Mode: "OFF" },
    ActionAfterCompletion: "DELETE",
    Target: {
      Arn: config.fireArn,
      RoleArn: config.schedulerRoleArn,
      Input: JSON.stringify(payload),
      DeadLetterConfig: { Arn: config.schedulerDlqArn },
    },
  });
});
