import { CfnSchedule } from "aws-cdk-lib/aws-scheduler";
import type { Construct } from "constructs";
import { type AppSchedule, appRule } from "../src/core/schedules/app-schedule.ts";
import type { SchedulerRule } from "../src/core/schedules/ports.ts";
import { purgeRule, ruleInput } from "../src/core/schedules/rule-input.ts";
import type { Scheduling } from "./scheduling.ts";

/**
 * Start of the names of the app's rules, which separates them from those of tenants' schedules and waiting tasks, whose
 * names are ids: in the service stack, and in further stacks.
 */
export const usualPrefix = "app.";
export const furtherPrefix = "ext.";

/** Adds the rules of the app's schedules to EventBridge Scheduler. A rule exists while the app lists its schedule. */
export function addAppSchedules(
  scope: Construct,
  schedules: readonly AppSchedule[],
  scheduling: Scheduling,
  prefix: typeof usualPrefix | typeof furtherPrefix,
): void {
  for (const schedule of schedules) {
    addRule(scope, `Schedule-${schedule.name}`, { name: prefix + schedule.name, ...appRule(schedule) }, scheduling);
  }
}

/** Adds the daily rule that makes fire delete the objects that no task needs any more. */
export const addPurgeRule = (scope: Construct, scheduling: Scheduling): void =>
  addRule(scope, "PurgeRule", purgeRule, scheduling);

type Rule = Pick<SchedulerRule, "name" | "expression" | "timezone" | "payload">;

/** Adds a rule that invokes fire. */
function addRule(scope: Construct, id: string, rule: Rule, { group, role, dlq, fireArn }: Scheduling): void {
  new CfnSchedule(scope, id, {
    name: rule.name,
    groupName: group.scheduleGroupName,
    scheduleExpression: rule.expression,
    scheduleExpressionTimezone: rule.timezone,
    flexibleTimeWindow: { mode: "OFF" },
    target: {
      arn: fireArn,
      roleArn: role.roleArn,
      input: ruleInput(rule.payload),
      deadLetterConfig: { arn: dlq.queueArn },
    },
  });
}
