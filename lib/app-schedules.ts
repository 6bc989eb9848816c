import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import type { Construct } from "constructs";
import { purgeRule } from "../src/core/blob/purge-rule.ts";
import { type AppSchedule, appRule } from "../src/core/schedules/app-schedule.ts";
import { ruleInput } from "../src/core/schedules/rule-input.ts";
import type { Scheduling } from "./scheduling.ts";

/** Adds the rules of the app's schedules to EventBridge Scheduler. A rule exists while the app lists its schedule. */
export function addAppSchedules(scope: Construct, schedules: readonly AppSchedule[], scheduling: Scheduling): void {
  for (const schedule of schedules) {
    const { payload, ...rule } = appRule(schedule);
    // The prefix separates these rules from those of tenants' schedules and waiting tasks, whose names are ids.
    const name = `app.${schedule.name}`;
    addRule(scope, `Schedule-${schedule.name}`, { ...rule, name, input: ruleInput(payload) }, scheduling);
  }
}

/** Adds the daily rule that makes fire delete the objects that no task needs any more. */
export function addPurgeRule(scope: Construct, scheduling: Scheduling): void {
  const { payload, ...rule } = purgeRule;
  addRule(scope, "PurgeRule", { ...rule, input: JSON.stringify(payload) }, scheduling);
}

interface Rule {
  readonly name: string;
  readonly expression: string;
  readonly timezone: string;
  readonly input: string;
}

/** Adds a rule that invokes fire. */
function addRule(scope: Construct, id: string, rule: Rule, { group, role, dlq, fireArn }: Scheduling): void {
  const { name, expression, timezone, input } = rule;
  new CfnSchedule(scope, id, {
    name,
    groupName: group.scheduleGroupName,
    scheduleExpression: expression,
    scheduleExpressionTimezone: timezone,
    flexibleTimeWindow: { mode: "OFF" },
    target: { arn: fireArn, roleArn: role.roleArn, input, deadLetterConfig: { arn: dlq.queueArn } },
  });
}
