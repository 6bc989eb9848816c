import { App, Stack, Validations } from "aws-cdk-lib";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { describe, expect, test } from "vitest";
import { addChecks } from "../../lib/checks.ts";
import { stage, synthesize } from "./synthesis.ts";

const synthesized = {
  dev: stage("dev"),
  prod: stage("prod"),
  "all that can be added": synthesize({
    stage: "prod",
    alarmTopicArn: "arn:aws:sns:eu-central-1:123456789012:on-call",
    alarmEmail: "team@example.com",
    tracing: { layerArn: "arn:aws:lambda:eu-central-1:615299751070:layer:AWSOpenTelemetryDistroJs:8" },
  }),
};

/** A synth fails on what a check finds: that these went through says that nothing was found that is not acknowledged. */
describe.each(Object.entries(synthesized))("%s passes all checks", (_, { pipeline }) => {
  const acknowledged = pipeline.node.findAll().flatMap((construct) =>
    construct.node.metadata
      .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
      .flatMap(({ data }) => Object.entries(data as Record<string, string>))
      .map(([rule, reason]) => ({ rule, reason, path: construct.node.path })),
  );
  const distinct = [...new Map(acknowledged.map((one) => [`${one.rule} ${one.reason}`, one])).values()];

  test("some findings are acknowledged", () => {
    expect(acknowledged.length).toBeGreaterThan(0);
  });

  test.each(distinct)("$rule is acknowledged with a reason", ({ reason }) => {
    expect(reason.length).toBeGreaterThanOrEqual(40);
    expect(reason.split(/\s+/).length).toBeGreaterThanOrEqual(8);
    expect(reason).toMatch(/^[A-Za-z].*\.$/);
  });

  test.each(distinct)("$rule is a rule of a pack, and not a whole pack", ({ rule }) => {
    expect(rule).toMatch(/(AwsSolutions|Serverless)-\w+(\[Resource::[^\]]+\])?$/);
  });
});

describe("the checks", () => {
  const found = () => {
    const app = new App();
    addChecks(app);
    new Queue(new Stack(app, "Stack"), "Queue");
    return app.synth();
  };

  test("a finding that is not acknowledged fails a synth", () => {
    expect(found).toThrow("AwsSolutions-SQS4");
  });
});
