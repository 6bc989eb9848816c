import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import type { Construct } from "constructs";
import { type AppSchedule, appRule } from "../src/core/schedules/app-schedule.ts";
import { ruleInput } from "../src/core/schedules/rule-input.ts";
import type { Scheduling } from "./scheduling.ts";

/** The rules of the app's schedules in EventBridge Scheduler: there as long as the deployment lists them. */
export function addAppSchedules(scope: Construct, schedules: readonly AppSchedule[], scheduling: Scheduling): void {
  const { group, role, dlq, fireArn } = scheduling;
  for (const schedule of schedules) {
    const { expression, timezone, payload } = appRule(schedule);
    new CfnSchedule(scope, `Schedule-${schedule.name}`, {
      // The names of tenants' schedules and of waiting tasks are ids, without a prefix.
      name: `app.${schedule.name}`,
      groupName: group.scheduleGroupName,
      scheduleExpression: expression,
      scheduleExpressionTimezone: timezone,
      flexibleTimeWindow: { mode: "OFF" },
      target: {
        arn: fireArn,
        roleArn: role.roleArn,
        input: ruleInput(payload),
        deadLetterConfig: { arn: dlq.queueArn },
      },
    });
  }
}
