import { Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { describe, expect, test } from "vitest";
import { tooLarge } from "../../lib/size-checks.ts";
import { defineSchedule } from "../../src/core/schedules/app-schedule.ts";
import { pipelineOf } from "../support/pipeline-of.ts";
import { newApp } from "./apps.ts";
import { allOf, echo, synthesize } from "./synthesis.ts";

const schedules = (count: number, padding = 0) =>
  Array.from({ length: count }, (_, index) =>
    defineSchedule({
      name: `report.number${index}`,
      cron: `${index % 60} 3 * * *`,
      tenantId: "acme",
      type: echo,
      input: { value: "x".repeat(padding) },
    }),
  );

describe("schedules of the app", () => {
  test("stay in the service stack as long as they fit, which 250 do", () => {
    const { pipeline, service } = synthesize({ schedules: schedules(250) });
    expect(allOf(service, "AWS::Scheduler::Schedule")).toHaveLength(251);
    expect(pipeline.node.children.map(({ node }) => node.id)).toEqual(["Data", "Service"]);
  });

  test("that do not fit are in further stacks, which are deployed after the function that they invoke", () => {
    const pipeline = pipelineOf(newApp(), { types: [echo], schedules: schedules(320) });
    const service = Template.fromStack(pipeline.service);
    const further = pipeline.node.children.filter(({ node }) => node.id.startsWith("Schedules"));
    const templates = further.map((stack) => Template.fromStack(stack as Stack));
    const counts = [service, ...templates].map((template) => allOf(template, "AWS::Scheduler::Schedule").length);
    // One is Offload's own.
    expect(counts.reduce((sum, count) => sum + count, -1)).toBe(320);
    expect(Object.keys(service.toJSON().Resources).length).toBeLessThanOrEqual(460);
    expect(further.map((stack) => (stack as Stack).stackName)).toEqual(["Offload-dev-schedules-1"]);
    expect((further[0] as Stack).dependencies).toContain(pipeline.service);
    const names = [service, ...templates].flatMap((template) =>
      allOf(template, "AWS::Scheduler::Schedule").map((one) => String(one.get("Name"))),
    );
    expect(new Set(names).size).toBe(321);
    expect(names.filter((name) => name.startsWith("ext.")).length).toBe(320 - (counts[0] ?? 0) + 1);
  });
});

describe("what AWS would refuse by its size is refused at synth", () => {
  const named = (environment: Record<string, string>) => ({
    environment,
    stage: "production",
    alarmEmail: "team@example.com",
    containers: {},
    events: true as const,
    push: true,
    deploymentName: "AcmeShopBackgroundTasksOfTheCompany-production",
  });

  test("variables of more than 4 KB, with the names that CloudFormation makes", () => {
    expect(() => synthesize(named({ LONG: "x".repeat(1_375) }))).toThrow(
      /environment variables of \w+ .* Lambda allows 4096/,
    );
  });

  test("variables that fit are not", () => {
    expect(synthesize({ environment: { LONG: "x".repeat(1_900) } }).service).toBeDefined();
  });

  test("a statement that fits into no policy", () => {
    const resources = Array.from({ length: 200 }, (_, index) => `arn:aws:s3:::${"b".repeat(60)}${index}/*`);
    expect(() => synthesize({ policies: [new PolicyStatement({ actions: ["s3:GetObject"], resources })] })).toThrow(
      /(policy|policies of the role) \w+ in the stack Offload-dev-service (has|have) \d+ characters, and IAM allows (6144|10240)/,
    );
  });

  test("stacks of more than 500 resources and templates of more than a megabyte", () => {
    const stack = new Stack(undefined, "Large");
    const Resources = Object.fromEntries(
      Array.from({ length: 501 }, (_, index) => [`R${index}`, { Type: "T", Properties: { Text: "x".repeat(2_000) } }]),
    );
    const sentences = tooLarge([{ stack, template: { Resources } }]);
    expect(sentences).toEqual([
      expect.stringContaining("the stack Large has 501 resources, and CloudFormation allows 500"),
      expect.stringMatching(/the template of the stack Large has 10\d{5} bytes, and CloudFormation allows 1000000/),
    ]);
  });
});
