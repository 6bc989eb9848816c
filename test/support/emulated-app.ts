import { Aspects, Validations } from "aws-cdk-lib";
import { Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { app } from "../../bin/app.ts";

/*
 * The CDK app for emulated accounts: the one that ships, with few invocations at once, as each is a process of its own, and
 * with permissions put into the words that the emulator checks.
 * - AWS has no actions of SQS's batch calls: `sqs:SendMessage` allows both. The emulator asks for `sqs:SendMessageBatch`.
 * - The emulator takes every schedule for one of the group `default`.
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

const add = (policy: Policy, statement: Statement) => policy.addStatements(PolicyStatement.fromJson(statement));

Validations.of(app).acknowledge({
  id: `AwsSolutions-IAM5[Resource::${defaultGroup}]`,
  reason: "Only for the emulator, which has no other words for it.",
});
