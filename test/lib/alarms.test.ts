import { describe, expect, test } from "vitest";
import { allOf, inService, resources, stage, synthesize } from "./synthesis.ts";

const dev = stage("dev");
const mailing = synthesize({ alarmEmail: "team@example.com" });
const alarmOf = resources(dev.service, "AWS::CloudWatch::Alarm");

const watched = {
  "Alarms/CriticalDlq": "CriticalDlq",
  "Alarms/HighDlq": "HighDlq",
  "Alarms/NormalDlq": "NormalDlq",
  "Alarms/LowDlq": "LowDlq",
  "Alarms/RedriveDlq": "RedriveDlq",
  "Alarms/SchedulerDlq": "Scheduling/Dlq",
};

test("each final queue has an alarm", () => {
  expect(
    allOf(dev.service, "AWS::CloudWatch::Alarm")
      .map(({ name }) => name)
      .sort(),
  ).toEqual(Object.keys(watched).sort());
});

describe.each(Object.entries(watched))("%s", (name, queue) => {
  const alarm = alarmOf(name);

  test("goes off while the queue holds a message", () => {
    expect(alarm.json.Properties).toMatchObject({
      MetricName: "ApproximateNumberOfMessagesVisible",
      Statistic: "Maximum",
      Threshold: 0,
      ComparisonOperator: "GreaterThanThreshold",
      EvaluationPeriods: 1,
      Period: 60,
    });
    expect(inService(dev, alarm.get("Dimensions.0.Value"))).toBe(`${queue}.QueueName`);
  });

  test("takes silence for good news", () => {
    expect(alarm.get("TreatMissingData")).toBe("notBreaching");
  });

  test("tells the topic when it starts and when it ends", () => {
    const told = [...alarm.list("AlarmActions"), ...alarm.list("OKActions")].map((target) => inService(dev, target));
    expect(told).toEqual(["Alarms/Topic", "Alarms/Topic"]);
  });
});

describe("the topic", () => {
  const statements = allOf(dev.service, "AWS::SNS::TopicPolicy").flatMap((policy) => policy.statements);

  test("takes what this account's alarms say", () => {
    expect(statements).toContainEqual(
      expect.objectContaining({
        Effect: "Allow",
        Principal: { Service: "cloudwatch.amazonaws.com" },
        Action: "sns:Publish",
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      }),
    );
  });

  test("refuses requests without TLS", () => {
    expect(statements).toContainEqual(
      expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    );
  });

  /** CloudWatch may not use the key `alias/aws/sns`: with it, no alarm would ever be heard. */
  test("has no key that alarms cannot use", () => {
    expect(resources(dev.service, "AWS::SNS::Topic")("Alarms/Topic").get("KmsMasterKeyId")).toBeUndefined();
  });

  test("writes to nobody by itself", () => {
    expect(allOf(dev.service, "AWS::SNS::Subscription")).toEqual([]);
  });

  test("writes to the address that is given", () => {
    const subscriptions = allOf(mailing.service, "AWS::SNS::Subscription").map(({ json }) => json.Properties);
    expect(subscriptions).toMatchObject([{ Protocol: "email", Endpoint: "team@example.com" }]);
  });
});
