import { Duration } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { runbookSections } from "../../../lib/observability/alarms.ts";
import { perTier, title } from "../../../lib/per-tier.ts";
import { tiers } from "../../../src/core/model/words.ts";
import { defineSchedule } from "../../../src/core/schedules/app-schedule.ts";
import { functions } from "../../../src/settings/config.ts";
import { echo } from "../../support/task-types.ts";
import { evaluate } from "../metric-math.ts";
import { allOf, inService, type Resource, resources, stage, synthesize } from "../synthesis.ts";

const dev = stage("dev");
const mailing = synthesize({ alarmEmail: "team@example.com" });
const alarms = allOf(dev.service, "AWS::CloudWatch::Alarm");
const composites = allOf(dev.service, "AWS::CloudWatch::CompositeAlarm");
const alarmOf = resources(dev.service, "AWS::CloudWatch::Alarm");
const alarm = (name: string) => alarmOf(`Alarms/${name}`);

/**
 * Without `publish`, which only deployments with direct submitters have, and whose failure fails the deployment; without `socket`, which only
 * deployments with channels have, and without `wake`, which only deployments with containers have.
 */
const functionNames = [
  ...functions.filter((name) => !["worker", "publish", "socket", "wake"].includes(name)),
  ...tiers.map((tier) => `${tier}-worker`),
];

/** Every alarm there is to be, by name. */
const expected = [
  ...tiers.flatMap((tier) =>
    ["dead-letters", "depth", "oldest-message", "slow-processing", "errors", "retries"].map(
      (name) => `${tier}-${name}`,
    ),
  ),
  ...functionNames.flatMap((name) => [`${name}-throttled-functions`, `${name}-failing-functions`]),
  ...["api-errors", "redrive-late", "redrive-gave-up"],
  ...["firings-late", "firings-gave-up", "firings-lost", "scheduler-throttled", "schedule-refused"],
  ...["notices-late", "notices-gave-up", "webhooks-failed", "receivers-failing"],
  ...["new-failure", "schedule-missed", "breaker-open", "line-waits", "pause-forgotten"],
  ...["table-throttled", "table-errors"],
];

test("there is every expected alarm, and no other", () => {
  expect(alarms.map(({ name }) => name).sort()).toEqual(expected.map((name) => `Alarms/${name}`).sort());
  expect(composites.map(({ name }) => name)).toEqual(["Alarms/pipeline-unhealthy"]);
});

describe.each([...alarms, ...composites])("$name", (one) => {
  const text = String(one.get("AlarmDescription"));
  const name = one.name.replace("Alarms/", "");
  const section =
    runbookSections.find((candidate) => name === candidate) ??
    runbookSections.find((candidate) => name.endsWith(`-${candidate}`));

  test("the alarm is named after its deployment and its section", () => {
    expect(one.get("AlarmName")).toBe(`Offload-dev-${name}`);
    // By its description `GET /alarms` knows an alarm as the deployment's own.
    expect(text).toMatch(/^Offload-dev: /);
    expect(runbookSections).toContain(section);
  });

  test("the text says what it means, what to do first and where to read on, within CloudWatch's limit", () => {
    const words =
      /^Offload-dev: (?<means>.{20,})\nFirst: (?<first>.{20,})\nDashboard: Offload-dev\nRunbook: npx offload docs runbook#(?<link>\S+)$/;
    expect(text).toMatch(words);
    expect(words.exec(text)?.groups?.link).toBe(section);
    expect(text.length).toBeLessThanOrEqual(1024);
  });

  test("the alarm notifies the topic when it starts and when it ends", () => {
    const told = [...one.list("AlarmActions"), ...one.list("OKActions")].map((target) => inService(dev, target));
    expect(told).toEqual(["Alarms/Topic", "Alarms/Topic"]);
  });
});

test("every section about an alarm has an alarm", () => {
  const ofContainers = allOf(synthesize({ containers: {} }).service, "AWS::CloudWatch::Alarm");
  const texts = [...alarms, ...composites, ...ofContainers].map((one) => String(one.get("AlarmDescription")));
  expect(runbookSections.filter((section) => !texts.some((text) => text.endsWith(`#${section}`)))).toEqual([]);
});

describe.each(alarms)("$name", (one) => {
  test("the alarm goes off above a threshold, and ignores missing data", () => {
    expect(one.json.Properties).toMatchObject({
      ComparisonOperator: "GreaterThanThreshold",
      TreatMissingData: "notBreaching",
    });
  });
});

const finalQueues: [name: string, queue: string][] = [
  ["critical-dead-letters", "CriticalDlq"],
  ["high-dead-letters", "HighDlq"],
  ["normal-dead-letters", "NormalDlq"],
  ["low-dead-letters", "LowDlq"],
  ["redrive-gave-up", "RedriveDlq"],
  ["firings-gave-up", "Scheduling/Dlq"],
  ["notices-gave-up", "NotifyDlq"],
];

describe.each(finalQueues)("%s", (name, queue) => {
  test(`the alarm goes off immediately while ${queue} holds a message`, () => {
    expect(alarm(name).json.Properties).toMatchObject({
      MetricName: "ApproximateNumberOfMessagesVisible",
      Statistic: "Maximum",
      Threshold: 0,
      EvaluationPeriods: 1,
      Period: 60,
    });
    expect(inService(dev, alarm(name).get("Dimensions.0.Value"))).toBe(`${queue}.QueueName`);
  });
});

test("the text about dead letters has the commands that lead to a dead letter's tenant, input and errors", () => {
  const text = String(alarm("normal-dead-letters").get("AlarmDescription"));
  expect(text).toContain("npx offload dlq list --tenant <tenant> --priority normal;");
  expect(text).toContain("npx offload dlq show <task> --tenant <tenant>");
});

test("each dead-letter queue has an alarm", () => {
  const dlqs = allOf(dev.data, "AWS::SQS::Queue").filter(({ name }) => /dlq/i.test(name));
  expect(dlqs.map(({ name }) => name).sort()).toEqual(finalQueues.map(([, queue]) => queue).sort());
});

/** Of one metric: which, of what, how it is put together, and above what for how long it is an alarm. */
const simple: [
  name: string,
  metric: string,
  of: string,
  statistic: string,
  bound: [threshold: number, minutes: number],
][] = [
  ["critical-depth", "ApproximateNumberOfMessagesVisible", "CriticalQueue.QueueName", "Maximum", [1000, 5]],
  ["high-depth", "ApproximateNumberOfMessagesVisible", "HighQueue.QueueName", "Maximum", [1000, 5]],
  ["normal-depth", "ApproximateNumberOfMessagesVisible", "NormalQueue.QueueName", "Maximum", [1000, 5]],
  ["low-depth", "ApproximateNumberOfMessagesVisible", "LowQueue.QueueName", "Maximum", [1000, 5]],
  ["critical-slow-processing", "processing_ms", "Offload-dev", "p99", [30_000, 15]],
  ["low-slow-processing", "processing_ms", "Offload-dev", "p99", [30_000, 15]],
  ["redrive-late", "ApproximateAgeOfOldestMessage", "RedriveQueue.QueueName", "Maximum", [1800, 5]],
  ["firings-late", "ApproximateAgeOfOldestMessage", "Scheduling/Firings.QueueName", "Maximum", [1800, 5]],
  ["notices-late", "ApproximateAgeOfOldestMessage", "NotifyQueue.QueueName", "Maximum", [1800, 5]],
  ["webhooks-failed", "webhook_failed", "Offload-dev", "Sum", [0, 5]],
  ["receivers-failing", "receiver_failing", "Offload-dev", "Sum", [0, 5]],
  ["new-failure", "new_failure", "Offload-dev", "Sum", [0, 5]],
  ["schedule-missed", "schedule_missed", "Offload-dev", "Sum", [0, 5]],
  ["breaker-open", "breaker_open", "Offload-dev", "Sum", [0, 10]],
  ["line-waits", "line_wait_ms", "Offload-dev", "Maximum", [600_000, 5]],
  ["pause-forgotten", "pause_age_ms", "Offload-dev", "Maximum", [86_400_000, 15]],
  ["submit-throttled-functions", "Throttles", "Submit/Function", "Sum", [10, 5]],
  ["low-worker-throttled-functions", "Throttles", "LowWorker/Function", "Sum", [10, 5]],
  ["fire-failing-functions", "Errors", "Fire/Function", "Sum", [5, 5]],
];

test.each(simple)("%s watches %s of %s as %s", (name, metric, of, statistic, [threshold, minutes]) => {
  const one = alarm(name);
  expect(one.get("MetricName")).toBe(metric);
  expect(inService(dev, one.get("Dimensions.0.Value"))).toBe(of);
  expect(one.get("Statistic") ?? one.get("ExtendedStatistic")).toBe(statistic);
  expect(one.get("Threshold")).toBe(threshold);
  expect((Number(one.get("EvaluationPeriods")) * Number(one.get("Period"))) / 60).toBe(minutes);
});

describe.each([
  ["critical", 120],
  ["high", 300],
  ["normal", 300],
  ["low", 1800],
] as const)("the oldest message of tier %s", (tier, seconds) => {
  const one = alarm(`${tier}-oldest-message`);
  const isOld = (waiting: number, age: number) =>
    isOn(one, { ApproximateNumberOfMessagesVisible: waiting, ApproximateAgeOfOldestMessage: age });

  test(`the oldest message is too old above ${seconds} s, while there are messages`, () => {
    expect([isOld(1, seconds + 1), isOld(1, seconds), isOld(0, seconds + 1)]).toEqual([true, false, false]);
  });

  test("the oldest message must be too old for three minutes", () => {
    expect(one.get("EvaluationPeriods")).toBe(3);
    expect(one.list<Query>("Metrics").flatMap(({ MetricStat }) => MetricStat?.Period ?? [])).toEqual([60, 60]);
  });

  test("the alarm watches the tier's own queue", () => {
    const dimensions = one.list<Query>("Metrics").flatMap(({ MetricStat }) => MetricStat?.Metric.Dimensions ?? []);
    const queues = dimensions.map(({ Value }) => inService(dev, Value));
    expect(queues).toEqual([`${title(tier)}Queue.QueueName`, `${title(tier)}Queue.QueueName`]);
  });
});

test("firings that are lost without a trace give an alarm immediately", () => {
  expect(alarm("firings-lost").json.Properties).toMatchObject({
    Namespace: "AWS/Scheduler",
    MetricName: "InvocationsFailedToBeSentToDeadLetterCount",
    Threshold: 0,
  });
});

interface Query {
  Id: string;
  Expression?: string;
  MetricStat?: { Metric: { MetricName: string; Dimensions: { Name: string; Value: unknown }[] }; Period: number };
}

/** Whether an alarm is on, when the metrics of one period have these values, by name. Absent: CloudWatch has no data. */
function isOn(one: Resource, measured: Record<string, number>): boolean {
  const [math, ...metrics] = one.list<Query>("Metrics");
  const named = metrics.map(({ Id, MetricStat }): [string, number | undefined] => [
    Id,
    measured[MetricStat?.Metric.MetricName ?? ""],
  ]);
  const value = evaluate(math?.Expression ?? "", Object.fromEntries(named));
  return value !== undefined && value > Number(one.get("Threshold"));
}

describe.each(tiers)("shares of tier %s", (tier) => {
  const errors: [failed: number | undefined, completed: number | undefined, on: boolean][] = [
    [1, 1, false],
    [4, 0, false],
    [5, 495, false],
    [5, 494, true],
    [5, undefined, true],
    [undefined, 500, false],
    [undefined, undefined, false],
  ];
  test.each(errors)("%s failed and %s completed give an alarm: %s", (failed, completed, on) => {
    const measured = { ...(failed !== undefined && { failed }), ...(completed !== undefined && { completed }) };
    expect(isOn(alarm(`${tier}-errors`), measured)).toBe(on);
  });

  const retries: [retried: number, started: number, on: boolean][] = [
    [1, 2, false],
    [19, 19, false],
    [20, 200, false],
    [20, 199, true],
  ];
  test.each(retries)("%s of %s attempts repeated give an alarm: %s", (retried, started, on) => {
    expect(isOn(alarm(`${tier}-retries`), { retried, started })).toBe(on);
  });

  test("the shares are those of a quarter of an hour, and of the own tier", () => {
    for (const name of ["errors", "retries"]) {
      const stats = alarm(`${tier}-${name}`)
        .list<Query>("Metrics")
        .flatMap(({ MetricStat }) => MetricStat ?? []);
      expect(stats.map(({ Period }) => Period)).toEqual([900, 900]);
      const dimensions = stats.flatMap(({ Metric }) => Metric.Dimensions.map(({ Value }) => Value));
      expect(dimensions).toEqual(["Offload-dev", tier, "Offload-dev", tier]);
    }
  });
});

test.each([
  [4, 4, false],
  [5, 500, false],
  [5, 499, true],
])("%d of %d requests answered with a 5xx give an alarm: %s", (errors, requests, on) => {
  expect(isOn(alarm("api-errors"), { "5xx": errors, Count: requests })).toBe(on);
});

test.each([
  [0, 4, false],
  [0, 5, true],
  [3, 2, true],
])("%d 5xx and %d batches of which no task was accepted, of 100 requests, give an alarm: %s", (errors, batches, on) => {
  expect(isOn(alarm("api-errors"), { "5xx": errors, batch_refused: batches, Count: 100 })).toBe(on);
});

test.each([
  ["table-throttled", "ThrottledRequests"],
  ["table-errors", "SystemErrors"],
  ["schedule-refused", "schedule_refused"],
  ["scheduler-throttled", "InvocationThrottleCount"],
  ["scheduler-throttled", "TargetErrorThrottledCount"],
])("%s goes off at one of %s", (name, metric) => {
  expect(isOn(alarm(name), { [metric]: 1 })).toBe(true);
  expect(isOn(alarm(name), { [metric]: 0 })).toBe(false);
});

test.each(["table-throttled", "table-errors"])("%s watches each operation that the functions use", (name) => {
  const watched = alarm(name)
    .list<Query>("Metrics")
    .flatMap(({ MetricStat }) => MetricStat?.Metric.Dimensions ?? [])
    .filter(({ Name }) => Name === "Operation")
    .map(({ Value }) => `dynamodb:${Value}`);
  const used = allOf(dev.service, "AWS::IAM::Policy")
    .flatMap(({ statements }) => statements.flatMap(({ Action }) => Action))
    // The daily look is repeated the next day: its scan is not worth $0.20 a month.
    .filter((action) => action.startsWith("dynamodb:") && action !== "dynamodb:Scan");
  expect(watched.sort()).toEqual([...new Set(used)].sort());
});

describe("pipeline unhealthy", () => {
  const rule = inService(dev, composites[0]?.get("AlarmRule"));
  const parts = [...rule.matchAll(/ALARM\("Alarms\/([\w-]+)\.Arn"\)/g)].map(([, name]) => name);

  test("the alarm is on while any alarm is on that users feel", () => {
    expect(parts.sort()).toEqual(
      [
        ...tiers.flatMap((tier) => [`${tier}-oldest-message`, `${tier}-errors`]),
        ...["api-errors", "redrive-late", "firings-late", "firings-gave-up", "firings-lost", "schedule-refused"],
        ...["notices-late", "notices-gave-up", "table-throttled", "table-errors"],
      ].sort(),
    );
    expect(rule.replaceAll(/ALARM\("[^"]+"\)/g, "")).toMatch(/^\(( OR )*\)$/);
  });

  test("the rule is short enough for CloudWatch, with the longest names", () => {
    const longestArn = `arn:aws-us-gov:cloudwatch:us-gov-east-1:123456789012:alarm:Offload-${"x".repeat(20)}-`;
    const length = rule.replaceAll(/Alarms\/([\w-]+)\.Arn/g, (_, name) => `${longestArn}${name}`).length;
    expect(length).toBeLessThanOrEqual(10_240);
    expect(parts.length).toBeLessThanOrEqual(100);
  });
});

describe("thresholds with options", () => {
  const chosen = synthesize({
    alarms: {
      runbookUrl: "https://wiki.example.com/offload",
      depth: { low: 50_000 },
      oldestMessage: { critical: Duration.seconds(45) },
      processing: { low: Duration.minutes(10) },
      errorPercent: 5,
      leastFailures: 2,
      retryPercent: 50,
      leastRetries: 3,
      throttles: 0,
      functionErrors: 1,
      serverErrorPercent: 10,
      leastServerErrors: 1,
      comingBack: Duration.hours(2),
      failedWebhooks: 20,
      lineWait: Duration.hours(1),
    },
  });
  const its = (name: string) => resources(chosen.service, "AWS::CloudWatch::Alarm")(`Alarms/${name}`);

  test("each text ends with a whole address of its section", () => {
    const alarms = allOf(chosen.service, "AWS::CloudWatch::Alarm");
    const last = alarms.map((alarm) => String(alarm.get("AlarmDescription")).split("\n").at(-1));
    expect(last.filter((line) => !/^Runbook: https:\/\/wiki\.example\.com\/offload#[a-z-]+$/.test(`${line}`))).toEqual(
      [],
    );
    expect(last).toContain("Runbook: https://wiki.example.com/offload#depth");
  });

  test.each([
    ["low-depth", 50_000],
    ["normal-depth", 1000],
    ["critical-oldest-message", 45],
    ["high-oldest-message", 300],
    ["low-slow-processing", 600_000],
    ["critical-slow-processing", 30_000],
    ["high-errors", 5],
    ["high-retries", 50],
    ["submit-throttled-functions", 0],
    ["submit-failing-functions", 1],
    ["api-errors", 10],
    ["redrive-late", 7200],
    ["firings-late", 7200],
    ["line-waits", 3_600_000],
    ["notices-late", 7200],
    ["webhooks-failed", 20],
  ])("%s has the threshold %d", (name, threshold) => {
    expect(its(name).get("Threshold")).toBe(threshold);
  });

  test("the least counts can be set", () => {
    expect(isOn(its("high-errors"), { failed: 2, completed: 0 })).toBe(true);
    expect(isOn(its("high-errors"), { failed: 1, completed: 0 })).toBe(false);
    expect(isOn(its("high-retries"), { retried: 3, started: 5 })).toBe(true);
    expect(isOn(its("api-errors"), { "5xx": 1, Count: 9 })).toBe(true);
  });

  test("the texts have the thresholds, and link to the given runbook", () => {
    const text = String(its("critical-oldest-message").get("AlarmDescription"));
    expect(text).toContain("older than 45 seconds");
    expect(text).toMatch(/\nRunbook: https:\/\/wiki\.example\.com\/offload#oldest-message$/);
  });
});

describe("refused thresholds", () => {
  test.each([
    [{ errorPercent: 0 }, "alarms.errorPercent must be above 0 and below 100, got 0"],
    [{ retryPercent: 100 }, "alarms.retryPercent must be above 0 and below 100, got 100"],
    [{ leastFailures: -1 }, "alarms.leastFailures must be a whole number of at least 0, got -1"],
    [{ throttles: 0.5 }, "alarms.throttles must be a whole number of at least 0, got 0.5"],
    [
      { depth: { ...perTier(() => 1), low: Number.NaN } },
      "alarms.depth.low must be a whole number of at least 0, got NaN",
    ],
  ])("%j is refused", (options, text) => {
    expect(() => synthesize({ alarms: options })).toThrow(text);
  });
});

describe("the topic", () => {
  const statements = allOf(dev.service, "AWS::SNS::TopicPolicy").flatMap((policy) => policy.statements);

  test("the topic accepts messages of this account's alarms", () => {
    expect(statements).toContainEqual(
      expect.objectContaining({
        Effect: "Allow",
        Principal: { Service: "cloudwatch.amazonaws.com" },
        Action: "sns:Publish",
        Condition: { StringEquals: { "aws:SourceAccount": { Ref: "AWS::AccountId" } } },
      }),
    );
  });

  test("the topic refuses requests without TLS", () => {
    expect(statements).toContainEqual(
      expect.objectContaining({ Effect: "Deny", Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    );
  });

  /** CloudWatch may not use the key `alias/aws/sns`: with it, no alarm would ever be heard. */
  test("the topic has no key that alarms cannot use", () => {
    expect(resources(dev.service, "AWS::SNS::Topic")("Alarms/Topic").get("KmsMasterKeyId")).toBeUndefined();
  });

  test("the topic has no subscriber by default", () => {
    expect(allOf(dev.service, "AWS::SNS::Subscription")).toEqual([]);
  });

  test("the topic has the given address as its subscriber", () => {
    const subscriptions = allOf(mailing.service, "AWS::SNS::Subscription").map(({ json }) => json.Properties);
    expect(subscriptions).toMatchObject([{ Protocol: "email", Endpoint: "team@example.com" }]);
  });
});

test("a schedule that asks for it has an alarm of its own", () => {
  const common = { cron: "0 2 * * *", type: echo, input: { value: "all" }, tenantId: "ops" };
  const schedules = [
    defineSchedule({ ...common, name: "billing.nightly", alarm: true }),
    defineSchedule({ ...common, name: "clean-up" }),
  ];
  const service = resources(synthesize({ schedules }).service, "AWS::CloudWatch::Alarm");
  const own = service("Alarms/billing.nightly-schedule-missed");
  expect(own.get("MetricName")).toBe("watched_schedule_missed");
  expect(own.get("Dimensions")).toContainEqual({ Name: "type", Value: "billing.nightly" });
  expect(own.get("AlarmDescription")).toContain("the schedule billing.nightly submitted nothing");
  expect(() => service("Alarms/clean-up-schedule-missed")).toThrow();
});
