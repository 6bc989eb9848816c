import { App, Duration, Stack, Validations } from "aws-cdk-lib";
import { CorsHttpMethod } from "aws-cdk-lib/aws-apigatewayv2";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { describe, expect, test } from "vitest";
import { addChecks } from "../../lib/checks.ts";
import { defineSchedule } from "../../src/core/schedules/app-schedule.ts";
import { acceptedTypes } from "../../src/core/task/task.ts";
import declared from "../../tasks/environment.ts";
import { schedules } from "../../tasks/schedules.ts";
import { taskTypes } from "../support/own-types.ts";
import { echo, needed, synthesizeChecked } from "./synthesis.ts";

const nightly = defineSchedule({
  name: "report.nightly",
  cron: "0 2 * * *",
  type: echo,
  input: { value: 1 },
  forEachTenant: true,
});

/** A domain whose certificate is the app's. */
function domainOf(app: App) {
  const name = "tasks.example.com";
  return { name, certificate: new Certificate(new Stack(app, "App"), "Certificate", { domainName: name }) };
}

const types = acceptedTypes(await taskTypes(), false);
const synthesized = {
  "the app that ships": synthesizeChecked({ types, schedules, declared }),
  prod: synthesizeChecked({ stage: "prod", ...needed.prod }),
  "all that can be added": synthesizeChecked((app) => ({
    environment: { API_BASE: "https://api.example.com" },
    secrets: { STRIPE_KEY: "prod/stripe", MAIL_KEY: { parameterName: "/prod/mail" } },
    policies: [new PolicyStatement({ actions: ["ses:SendEmail"], resources: ["arn:aws:ses:::identity/example.com"] })],
    domain: domainOf(app),
    stage: "prod",
    alarmTopicArn: "arn:aws:sns:eu-central-1:123456789012:on-call",
    alarmEmail: "team@example.com",
    tracing: { layerArn: "arn:aws:lambda:eu-central-1:615299751070:layer:AWSOpenTelemetryDistroJs:8" },
    schedules: [nightly],
    limits: { tenants: { submitsPerSecond: 20 }, depth: { low: 7 } },
    jwt: { issuer: "https://issuer.test", audience: "offload" },
    throttle: { requestsPerSecond: 50 },
    cors: { allowOrigins: ["https://app.example.com"], allowMethods: [CorsHttpMethod.ANY] },
    containers: { spot: true, minTasks: 1 },
    tiers: {
      critical: { provisionedPollers: { minimum: 2, maximum: 20 } },
      low: { maxConcurrency: 2, memorySize: 2048, batchSize: 5, batchWindow: Duration.seconds(20) },
    },
    alarms: { runbookUrl: "https://wiki.example.com/offload", depth: { low: 50_000 } },
    logRetention: RetentionDays.ONE_YEAR,
    probes: true,
    timeScale: 0.01,
  })),
  "the profile small": synthesizeChecked({ profile: "small" }),
};

/** A synth fails on what a check finds: that these went through says that nothing was found that is not acknowledged. */
describe.each(Object.entries(synthesized))("%s passes all checks", (_, { pipeline }) => {
  const acknowledged = pipeline.node.findAll().flatMap((construct) =>
    construct.node.metadata
      .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
      .flatMap(({ data }) => Object.entries(data as Record<string, string>))
      // The CDK acknowledges rules of its own about VPCs.
      .filter(([rule]) => !rule.startsWith("CloudFormation-Validate::"))
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
    expect(rule).toMatch(/(AwsSolutions|Serverless)-\w+(\[Resource::.+\])?$/);
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
