import { Aspects, Validations } from "aws-cdk-lib";
import { CfnAlarm, CfnCompositeAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { CfnQueryDefinition } from "aws-cdk-lib/aws-logs";
import { app } from "../../bin/app.ts";
import { addShop } from "./shop.ts";

/*
 * The CDK app for emulated accounts: the one that ships, with few invocations at once, as each is a process of its own, and
 * with permissions put into the words that the emulator checks.
 * - AWS has no actions of SQS's batch calls: `sqs:SendMessage` allows both. The emulator asks for `sqs:SendMessageBatch`.
 * - The emulator takes every schedule for one of the group `default`.
 * - Its CloudFormation knows no metric math in alarms, no composite alarms, and no saved queries: such alarms watch a metric
 *   that nobody writes, the queries are left out.
 * A second stack has a function that submits directly.
 */
const defaultGroup = "arn:aws:scheduler:*:*:schedule/default/*";

const batched = ["sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"];

interface Statement {
  Action: string | string[];
  Resource: unknown;
}

Aspects.of(app).add({
  visit(node) {
    if (node instanceof CfnEventSourceMapping) node.scalingConfig = { maximumConcurrency: 4 };
    if (node instanceof CfnAlarm && node.metrics !== undefined) watchNothing(node, "Metrics");
    if (node instanceof CfnCompositeAlarm) watchNothing(node, "AlarmRule");
    if (node instanceof CfnQueryDefinition) node.node.scope?.node.tryRemoveChild(node.node.id);
    if (!(node instanceof Policy)) return;
    const { Statement: statements = [] } = (node.document.toJSON() ?? {}) as { Statement?: Statement[] };
    for (const statement of statements) {
      const actions = [statement.Action].flat();
      const batches = actions.filter((action) => batched.includes(action)).map((action) => `${action}Batch`);
      if (batches.length > 0) add(node, { ...statement, Action: batches });
      const schedules = actions.filter((action) => action.startsWith("scheduler:"));
      if (schedules.length > 0) add(node, { ...statement, Action: schedules, Resource: defaultGroup });
    }
  },
});

function watchNothing(alarm: CfnAlarm | CfnCompositeAlarm, instead: "Metrics" | "AlarmRule"): void {
  alarm.addOverride("Type", CfnAlarm.CFN_RESOURCE_TYPE_NAME);
  alarm.addPropertyDeletionOverride(instead);
  const nothing = { Namespace: "Emulated", MetricName: "none", Statistic: "Sum", Period: 60 };
  const always = { Threshold: 0, EvaluationPeriods: 1, ComparisonOperator: "GreaterThanThreshold" };
  for (const [name, value] of Object.entries({ ...nothing, ...always })) alarm.addPropertyOverride(name, value);
}

const add = (policy: Policy, statement: Statement) => policy.addStatements(PolicyStatement.fromJson(statement));

Validations.of(app).acknowledge({
  id: `AwsSolutions-IAM5[Resource::${defaultGroup}]`,
  reason: "Only for the emulator, which has no other words for it.",
});

addShop(app);
