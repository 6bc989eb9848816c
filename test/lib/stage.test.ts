import { describe, expect, test } from "vitest";
import { allOf, inService, resources, stage, synthesize, widgetsOf } from "./synthesis.ts";

const topicArn = "arn:aws:sns:eu-central-1:123456789012:on-call";
const dev = stage("dev");
const prod = stage("prod");

describe("alarms of a stage that is protected", () => {
  test.each(["prod", "staging", "team-a"])("%s: somebody must hear of them", (name) => {
    expect(() => synthesize({ stage: name })).toThrow(
      `the alarms of stage ${name} have no receiver: set alarmEmail or alarmTopicArn`,
    );
  });

  test("an address will do", () => {
    const [subscription] = allOf(prod.service, "AWS::SNS::Subscription");
    expect(subscription?.get("Endpoint")).toBe("team@example.com");
  });

  test("a topic will do: the alarms speak to it, and have none of their own", () => {
    const { service } = synthesize({ stage: "prod", alarmTopicArn: topicArn });
    expect(allOf(service, "AWS::SNS::Topic")).toEqual([]);
    for (const alarm of allOf(service, "AWS::CloudWatch::Alarm"))
      expect(alarm.list("AlarmActions")).toEqual([topicArn]);
  });

  test("an address is subscribed to a given topic, too", () => {
    const { service } = synthesize({ stage: "prod", alarmTopicArn: topicArn, alarmEmail: "team@example.com" });
    expect(allOf(service, "AWS::SNS::Subscription").map((one) => one.get("TopicArn"))).toEqual([topicArn]);
  });

  test("nobody will do when that is said", () => {
    const quiet = synthesize({ stage: "prod", alarms: { unheard: true } });
    expect(allOf(quiet.service, "AWS::SNS::Subscription")).toEqual([]);
    expect(allOf(quiet.service, "AWS::CloudWatch::Alarm").length).toBeGreaterThan(20);
  });
});

describe("no alarms at all", () => {
  test("are for dev only", () => {
    const given = { alarms: false, alarmEmail: "team@example.com" } as const;
    expect(() => synthesize({ stage: "prod", ...given })).toThrow(
      "stage prod must have alarms: only dev can turn them off",
    );
  });

  test("leave the dashboard and the queries", () => {
    const cheap = synthesize({ alarms: false });
    const count = (type: string) => allOf(cheap.service, type).length;
    expect(["Alarm", "CompositeAlarm"].map((type) => count(`AWS::CloudWatch::${type}`))).toEqual([0, 0]);
    expect([count("AWS::SNS::Topic"), count("AWS::CloudWatch::Dashboard")]).toEqual([0, 1]);
    expect(count("AWS::Logs::QueryDefinition")).toBeGreaterThan(5);
    expect(widgetsOf(cheap).filter(({ type }) => type === "alarm")).toEqual([]);
  });
});

test("dev needs nobody", () => {
  expect(allOf(dev.service, "AWS::SNS::Subscription")).toEqual([]);
});

describe.each([
  ["dev", dev, "Delete", false],
  ["prod", prod, "Retain", true],
] as const)("stage %s", (_, { data, service, pipeline }, policy, isProtected) => {
  test(`its data meets ${policy}`, () => {
    const kept = ["AWS::DynamoDB::GlobalTable", "AWS::SQS::Queue", "AWS::Scheduler::ScheduleGroup"];
    const policies = kept.flatMap((type) => allOf(data, type)).map(({ json }) => json.DeletionPolicy);
    expect(new Set(policies)).toEqual(new Set([policy]));
  });

  test(`its logs meet ${policy}`, () => {
    const policies = allOf(service, "AWS::Logs::LogGroup").map(({ json }) => json.DeletionPolicy);
    expect(new Set(policies)).toEqual(new Set([policy]));
  });

  test(`its stacks ${isProtected ? "refuse to be" : "can be"} deleted`, () => {
    expect([pipeline.data, pipeline.service].map((one) => one.terminationProtection)).toEqual([
      isProtected,
      isProtected,
    ]);
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

test("deployments are told apart by name: alarms, dashboard, queries, metrics", () => {
  const names = (type: string, property: string) => allOf(prod.service, type).map((one) => one.get(property));
  const all = [
    ...names("AWS::CloudWatch::Alarm", "AlarmName"),
    ...names("AWS::CloudWatch::CompositeAlarm", "AlarmName"),
    ...names("AWS::CloudWatch::Dashboard", "DashboardName"),
    ...names("AWS::Logs::QueryDefinition", "Name"),
    ...names("AWS::Lambda::Function", "Environment.Variables.POWERTOOLS_SERVICE_NAME").map(String),
  ];
  expect(all.filter((name) => !/^Offload-prod\b/.test(String(name)))).toEqual([]);
  expect(inService(prod, allOf(prod.service, "AWS::CloudWatch::Dashboard")[0]?.get("DashboardBody"))).not.toContain(
    "Offload-dev",
  );
});
