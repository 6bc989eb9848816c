import { describe, expect, test } from "vitest";
import { defineSchedule } from "../../src/core/schedules/app-schedule.ts";
import { allOf, echo, inData, inService, resources, type Statement, stage, synthesize } from "./synthesis.ts";

const dev = stage("dev");
const fireArn = "arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:Offload-dev-fire";

describe("the role of schedules", () => {
  test("the role is for schedules of the own group in the own account", () => {
    const role = resources(dev.data, "AWS::IAM::Role")("Scheduling/Role");
    const [statement, ...others] = role.list<Statement>("AssumeRolePolicyDocument.Statement");
    expect(others).toEqual([]);
    expect(statement?.Principal).toEqual({ Service: "scheduler.amazonaws.com" });
    expect(statement?.Condition?.StringEquals).toEqual({ "aws:SourceAccount": { Ref: "AWS::AccountId" } });
    expect(inData(dev, statement?.Condition?.ArnEquals?.["aws:SourceArn"])).toBe("Scheduling/Group.Arn");
  });

  test("the role may invoke fire, and send to the queues of firings", () => {
    const { statements } = resources(dev.data, "AWS::IAM::Policy")("Scheduling/Role/DefaultPolicy");
    expect(
      statements.map(({ Action, Resource }) => [Action, ...[Resource].flat().map((one) => inData(dev, one))]),
    ).toEqual([
      ["lambda:InvokeFunction", fireArn],
      ["sqs:SendMessage", "Scheduling/Dlq.Arn", "Scheduling/Firings.Arn"],
    ]);
  });
});

describe("fire", () => {
  const fireOf = (name: "dev" | "prod") => resources(stage(name).service, "AWS::Lambda::Function")("Fire/Function");

  /** Schedules that wait name it; with another name they would be lost. */
  test("fire keeps its name", () => {
    expect(fireOf("dev").get("FunctionName")).toBe("Offload-dev-fire");
    expect(fireOf("prod").get("FunctionName")).toBe("Offload-prod-fire");
  });

  test("a firing that Lambda gives up on comes back by a queue, one at a time", () => {
    expect(inService(dev, fireOf("dev").get("DeadLetterConfig.TargetArn"))).toBe("Scheduling/Firings.Arn");
    const sources = allOf(dev.service, "AWS::Lambda::EventSourceMapping");
    const back = sources.find((source) => inService(dev, source.get("EventSourceArn")) === "Scheduling/Firings.Arn");
    expect(back?.get("BatchSize")).toBe(1);
  });
});

/** The rules of the app's schedules. */
const appRules = (template: typeof dev.service) =>
  allOf(template, "AWS::Scheduler::Schedule").filter((rule) => String(rule.get("Name")).startsWith("app."));

test("a daily rule makes fire submit the task that deletes objects", () => {
  const [rule, ...others] = allOf(dev.service, "AWS::Scheduler::Schedule");
  expect(others).toEqual([]);
  expect(rule?.json.Properties).toMatchObject({
    Name: "offload.purge-blobs",
    ScheduleExpression: "cron(20 0 * * ? *)",
    ScheduleExpressionTimezone: "UTC",
    FlexibleTimeWindow: { Mode: "OFF" },
  });
  expect(JSON.parse(String(rule?.get("Target.Input")))).toEqual({
    kind: "purge_blobs",
    scheduled_for: "<aws.scheduler.scheduled-time>",
  });
  expect(inService(dev, rule?.get("Target.Arn"))).toBe(fireArn);
  expect(inService(dev, rule?.get("Target.RoleArn"))).toBe("Scheduling/Role.Arn");
});

const nightlyOf = (name: string) =>
  defineSchedule({
    name,
    cron: "0 2 * * *",
    timezone: "Europe/Berlin",
    type: echo,
    input: { value: 1 },
    forEachTenant: true,
  });

test("the role of every schedule may send to the schedule's queue", () => {
  const { data, service } = synthesize({ schedules: [nightlyOf("report.nightly")] });
  const [role] = allOf(data, "AWS::IAM::Policy").filter(({ name }) => name.startsWith("Scheduling/Role/"));
  const writable = (role?.statements ?? [])
    .filter(({ Action: action }) => action === "sqs:SendMessage")
    .flatMap(({ Resource: to }) => [to].flat())
    .map((queue) => inData({ ...dev, data }, queue));
  const queues = allOf(service, "AWS::Scheduler::Schedule").map((one) =>
    inService({ ...dev, data, service }, one.get("Target.DeadLetterConfig.Arn")),
  );
  expect(queues.length).toBeGreaterThan(1);
  // Tasks that wait have the queue of firings.
  for (const queue of [...queues, "Scheduling/Firings.Arn"]) expect(writable).toContain(queue);
});

describe("schedules of the app", () => {
  const nightly = nightlyOf("report.nightly");
  const chosen = synthesize({ schedules: [nightly] });

  test("schedules of the app are rules of the deployment, with their names in the payload", () => {
    const [rule, ...others] = appRules(chosen.service);
    expect(others).toEqual([]);
    expect(rule?.json.Properties).toMatchObject({
      Name: "app.report.nightly",
      ScheduleExpression: "cron(0 2 * * ? *)",
      ScheduleExpressionTimezone: "Europe/Berlin",
      FlexibleTimeWindow: { Mode: "OFF" },
    });
    expect(JSON.parse(String(rule?.get("Target.Input")))).toMatchObject({
      kind: "app_schedule",
      name: "report.nightly",
    });
  });

  test("there are no rules of the app when no schedule is listed", () => {
    expect(appRules(dev.service)).toEqual([]);
  });

  test("a schedule must submit a type that the deployment accepts", () => {
    expect(() => synthesize({ types: [], schedules: [nightly] })).toThrow(
      /report.nightly submits echo, which is not a task type/,
    );
  });
});
