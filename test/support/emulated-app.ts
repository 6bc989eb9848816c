import { Aspects, Validations } from "aws-cdk-lib";
import { Policy, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { app } from "../../bin/app.ts";

/*
 * The CDK app for emulated accounts: the one that ships, and one permission more. The emulator takes every schedule for
 * one of the group `default` when it checks whether a function may create or delete it.
 */
const resource = (partition: string, region: string, account: string) =>
  `arn:${partition}:scheduler:${region}:${account}:schedule/default/*`;

Aspects.of(app).add({
  visit(node) {
    if (!(node instanceof Policy)) return;
    const stated = JSON.stringify(node.document.toJSON());
    const actions = ["scheduler:CreateSchedule", "scheduler:DeleteSchedule"].filter((action) =>
      stated.includes(action),
    );
    if (actions.length === 0) return;
    node.addStatements(new PolicyStatement({ actions, resources: [resource("aws", "*", "*")] }));
  },
});
Validations.of(app).acknowledge({
  id: `AwsSolutions-IAM5[Resource::${resource("aws", "*", "*")}]`,
  reason: "Only for the emulator.",
});
