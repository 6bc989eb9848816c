import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import type { Construct } from "constructs";
import { type AppSchedule, appRule } from "../src/core/schedules/app-schedule.ts";
import { ruleInput } from "../src/core/schedules/rule-input.ts";
import type { Scheduling } from "./scheduling.ts";

/** Adds the rules of the app's schedules to EventBridge Scheduler. A rule exists while the app lists its schedule. */
export function addAppSchedules(scope: Construct, schedules: readonly AppSchedule[], scheduling: Scheduling): void {
  const { group, role, dlq, fireArn } = scheduling;
  for (const schedule of schedules) {
    const { expression, timezone, payload } = appRule(schedule);
    new CfnSchedule(scope, `Schedule-${schedule.name}`, {
      // The prefix separates these rules from those of tenants' schedules and waiting tasks, whose names are ids.
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
