import { describe, expect, test } from "vitest";
import { disposableKey } from "../../src/tools/doctor/accepted.ts";
import { allOf, inService, resources, stage, synthesize, widgetsOf } from "./synthesis.ts";

const topicArn = "arn:aws:sns:eu-central-1:123456789012:on-call";
const dev = stage("dev");
const prod = stage("prod");

describe("alarms of a stage that is protected", () => {
  test.each(["prod", "staging", "team-a"])("%s needs a receiver of its alarms", (name) => {
    expect(() => synthesize({ stage: name })).toThrow(
      `the alarms of stage ${name} have no receiver: set alarmEmail or alarmTopicArn`,
    );
  });

  test("an address is enough", () => {
    const [subscription] = allOf(prod.service, "AWS::SNS::Subscription");
    expect(subscription?.get("Endpoint")).toBe("team@example.com");
  });

  test("a topic is enough: the alarms notify it, and have none of their own", () => {
    const { service } = synthesize({ stage: "prod", alarmTopicArn: topicArn });
    expect(allOf(service, "AWS::SNS::Topic")).toEqual([]);
    const actions = allOf(service, "AWS::CloudWatch::Alarm").map((alarm) => alarm.list("AlarmActions"));
    expect(actions).toHaveLength(allOf(prod.service, "AWS::CloudWatch::Alarm").length);
    expect(actions).toEqual(actions.map(() => [topicArn]));
  });

  test("an address is subscribed to a given topic, too", () => {
    const { service } = synthesize({ stage: "prod", alarmTopicArn: topicArn, alarmEmail: "team@example.com" });
    expect(allOf(service, "AWS::SNS::Subscription").map((one) => one.get("TopicArn"))).toEqual([topicArn]);
  });

  test("alarms without a receiver are possible by an option", () => {
    const quiet = synthesize({ stage: "prod", alarms: { unheard: true } });
    expect(allOf(quiet.service, "AWS::SNS::Subscription")).toEqual([]);
    expect(allOf(quiet.service, "AWS::CloudWatch::Alarm").length).toBeGreaterThan(20);
  });
});

describe("a stage without alarms", () => {
  test("only dev can have no alarms", () => {
    const given = { alarms: false, alarmEmail: "team@example.com" } as const;
    expect(() => synthesize({ stage: "prod", ...given })).toThrow(
      "stage prod must have alarms: only dev can turn them off",
    );
  });

  test("the dashboard and the queries stay without alarms", () => {
    const cheap = synthesize({ alarms: false });
    const count = (type: string) => allOf(cheap.service, type).length;
    expect(["Alarm", "CompositeAlarm"].map((type) => count(`AWS::CloudWatch::${type}`))).toEqual([0, 0]);
    expect([count("AWS::SNS::Topic"), count("AWS::CloudWatch::Dashboard")]).toEqual([0, 1]);
    expect(count("AWS::Logs::QueryDefinition")).toBeGreaterThan(5);
    expect(widgetsOf(cheap).filter(({ type }) => type === "alarm")).toEqual([]);
  });
});

describe("a stage that keeps no data", () => {
  const preview = synthesize({ stage: "pr-1", dataProtection: false });

  test("it is deleted with its stacks, as dev", () => {
    const policies = [preview.data, preview.service].flatMap((template) =>
      Object.values(template.toJSON().Resources as Record<string, { DeletionPolicy?: string }>),
    );
    expect(policies.filter(({ DeletionPolicy: policy = "Delete" }) => policy !== "Delete")).toEqual([]);
    expect(preview.pipeline.data.terminationProtection).toBe(false);
    const table = resources(preview.data, "AWS::DynamoDB::GlobalTable")("Table");
    expect(table.get("Replicas.0.DeletionProtectionEnabled")).toBe(false);
  });

  test("it needs no receiver of alarms, and may have no alarms", () => {
    expect(allOf(preview.service, "AWS::SNS::Subscription")).toEqual([]);
    expect(synthesize({ stage: "pr-2", dataProtection: false, alarms: false }).service).toBeDefined();
  });

  test("the doctor knows that there is nothing to protect in it", () => {
    expect(preview.data.toJSON().Metadata).toEqual({ [disposableKey]: true });
    const warnings = preview.pipeline.data.node.findAll().flatMap(({ node }) => node.metadata.map(({ data }) => data));
    expect(warnings.filter((text) => String(text).includes("deleted with its stack"))).toEqual([]);
  });

  test("dev keeps its data if it is told to", () => {
    const kept = synthesize({ dataProtection: true, alarmEmail: "team@example.com" });
    expect(resources(kept.data, "AWS::DynamoDB::GlobalTable")("Table").json.DeletionPolicy).toBe(
      "RetainExceptOnCreate",
    );
    expect(kept.pipeline.data.terminationProtection).toBe(true);
  });
});

test("dev needs no receiver of alarms", () => {
  expect(allOf(dev.service, "AWS::SNS::Subscription")).toEqual([]);
});

describe.each([
  ["dev", dev, "Delete", false],
  ["prod", prod, "RetainExceptOnCreate", true],
] as const)("stage %s", (_, { data, service, pipeline }, policy, isProtected) => {
  test(`its data has the deletion policy ${policy}`, () => {
    const kept = ["AWS::DynamoDB::GlobalTable", "AWS::SQS::Queue", "AWS::Scheduler::ScheduleGroup"];
    const policies = kept.flatMap((type) => allOf(data, type)).map(({ json }) => json.DeletionPolicy);
    expect(new Set(policies)).toEqual(new Set([policy]));
  });

  test(`its logs have the deletion policy ${policy}`, () => {
    const policies = allOf(service, "AWS::Logs::LogGroup").map(({ json }) => json.DeletionPolicy);
    expect(new Set(policies)).toEqual(new Set([policy]));
  });

  test(`its data stack ${isProtected ? "refuses to be" : "can be"} deleted`, () => {
    expect(pipeline.data.terminationProtection).toBe(isProtected);
  });

  test("its service stack can be deleted, so that a first deployment that failed can be repeated", () => {
    expect(pipeline.service.terminationProtection).toBe(false);
  });

  test(`its table ${isProtected ? "refuses to be" : "can be"} deleted`, () => {
    const table = resources(data, "AWS::DynamoDB::GlobalTable")("Table");
    expect(table.get("Replicas.0.DeletionProtectionEnabled")).toBe(isProtected);
  });

  test("its table can be restored to any point in time", () => {
    const table = resources(data, "AWS::DynamoDB::GlobalTable")("Table");
    expect(table.get("Replicas.0.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled")).toBe(true);
  });
});

test("alarms, dashboard, queries and metrics have the deployment's name", () => {
  const names = (type: string, property: string) => allOf(prod.service, type).map((one) => one.get(property));
  const all = [
    ...names("AWS::CloudWatch::Alarm", "AlarmName"),
    ...names("AWS::CloudWatch::CompositeAlarm", "AlarmName"),
    ...names("AWS::CloudWatch::Dashboard", "DashboardName"),
    ...names("AWS::Logs::QueryDefinition", "Name"),
    ...names("AWS::Lambda::Function", "Environment.Variables.POWERTOOLS_SERVICE_NAME").map(String),
  ];
  expect(all.length).toBeGreaterThan(60);
  expect(all.filter((name) => !/^Offload-prod\b/.test(String(name)))).toEqual([]);
  expect(inService(prod, allOf(prod.service, "AWS::CloudWatch::Dashboard")[0]?.get("DashboardBody"))).not.toContain(
    "Offload-dev",
  );
});
