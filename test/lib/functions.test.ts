import { Duration } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { title } from "../../lib/per-tier.ts";
import { intervalMs, longestWaitSeconds } from "../../src/core/control/task-ends.ts";
import { tiers } from "../../src/core/model/words.ts";
import { statusTimeoutSeconds } from "../../src/settings/config.ts";
import { allOf, inService, resources, type Synthesis, stage, synthesize } from "./synthesis.ts";

const dev = stage("dev");
const functions = allOf(dev.service, "AWS::Lambda::Function");
const functionOf = resources(dev.service, "AWS::Lambda::Function");
const logGroups = allOf(dev.service, "AWS::Logs::LogGroup");
const logGroupOf = resources(dev.service, "AWS::Logs::LogGroup");
const workers = tiers.map((tier) => `${title(tier)}Worker/Function`);

/** The event source that takes from a queue. */
function sourceOf(synthesis: Synthesis, queue: string) {
  const sources = allOf(synthesis.service, "AWS::Lambda::EventSourceMapping");
  const [found, ...others] = sources.filter(
    (one) => inService(synthesis, one.get("EventSourceArn")) === `${queue}.Arn`,
  );
  if (found === undefined || others.length > 0) throw new Error(`expected one event source of ${queue}`);
  return found;
}

describe.each(functions)("function $name", (fn) => {
  test("the function runs on Node 24, on ARM", () => {
    expect(fn.get("Runtime")).toBe("nodejs24.x");
    expect(fn.get("Architectures")).toEqual(["arm64"]);
  });

  test("the function has its code, also where this follows from the task files, which are loaded meanwhile", () => {
    expect(fn.get("Code")).toEqual({
      S3Bucket: expect.anything(),
      S3Key: expect.stringMatching(/^[0-9a-f]{64}\.zip$/),
    });
  });

  test("the function has 512 MB, and the console's, which only answers files, 256 MB", () => {
    expect(fn.get("MemorySize")).toBe(fn.name === "Console/Function" ? 256 : 512);
  });

  test("the function writes metrics under the deployment's name", () => {
    expect(fn.get("Environment.Variables.POWERTOOLS_SERVICE_NAME")).toBe("Offload-dev");
  });

  test("the function logs to a group of its own, which keeps lines for a month", () => {
    const group = inService(dev, fn.get("LoggingConfig.LogGroup"));
    expect(group).toBe(fn.name.replace("/Function", "/Logs"));
    expect(logGroupOf(group).get("RetentionInDays")).toBe(30);
  });

  test("Lambda itself logs only invocations that fail", () => {
    expect(fn.get("LoggingConfig")).toMatchObject({ LogFormat: "JSON", SystemLogLevel: "WARN" });
    expect(fn.get("LoggingConfig.ApplicationLogLevel")).toBeUndefined();
  });
});

test("only the access log, which queries alone read, is of the class for half the price", () => {
  const of = (name: string) => logGroups.filter((group) => (group.name === "Api/RequestLog") === (name === "access"));
  expect(of("access").map((group) => group.get("LogGroupClass"))).toEqual(["INFREQUENT_ACCESS"]);
  expect(of("others").filter((group) => group.get("LogGroupClass") === "INFREQUENT_ACCESS")).toEqual([]);
});

test("the access log keeps lines for a month, too", () => {
  expect(logGroupOf("Api/RequestLog").get("RetentionInDays")).toBe(30);
});

test("every log group deletes lines some day", () => {
  expect(logGroups.filter((group) => !(Number(group.get("RetentionInDays")) > 0))).toEqual([]);
});

test.each([
  ["Submit/Function", 15],
  ["Status/Function", 25],
  ["Control/Function", 15],
  ["Console/Function", 15],
  ["Authorizer/Function", 15],
  ["Fire/Function", 300],
  ["Redrive/Function", 60],
  ["Notify/Function", 30],
  ...workers.map((name): [string, number] => [name, 900]),
])("%s has a time-out of %d s", (name, seconds) => {
  expect(functionOf(name).get("Timeout")).toBe(seconds);
});

test("a request that waits ends before its function is stopped, and within two intervals of places", () => {
  expect(statusTimeoutSeconds).toBeGreaterThanOrEqual(longestWaitSeconds + 5);
  expect(statusTimeoutSeconds).toBeLessThan(30);
  expect(intervalMs).toBeGreaterThanOrEqual(statusTimeoutSeconds * 1000);
});

test.each([
  [{}, "100"],
  [{ waits: 7 }, "7"],
  [{ profile: "small" }, "0"],
] as const)("with %j %s requests may wait at the same time", (props, waits) => {
  const status = resources(synthesize(props).service, "AWS::Lambda::Function")("Status/Function");
  expect(status.get("Environment.Variables.OFFLOAD_WAITS")).toBe(waits);
});

test("only functions that send messages back to themselves may do so", () => {
  const allowed = functions.filter((fn) => fn.get("RecursiveLoop") === "Allow").map(({ name }) => name);
  expect(allowed.sort()).toEqual([...workers, "Redrive/Function", "Notify/Function"].sort());
});

test("functions have the settings that they read, and no others", () => {
  const settings = (name: string) =>
    Object.keys(functionOf(`${name}/Function`).get("Environment.Variables") ?? {})
      .filter((variable) => variable !== "POWERTOOLS_SERVICE_NAME")
      .sort();
  const dispatching = [
    "OFFLOAD_BUCKET",
    "OFFLOAD_DLQ_URLS",
    "OFFLOAD_FIRE_ARN",
    "OFFLOAD_NOTIFY_EVENTS",
    "OFFLOAD_NOTIFY_PUSH",
    "OFFLOAD_NOTIFY_URL",
    "OFFLOAD_QUEUE_URLS",
    "OFFLOAD_SCHEDULER_DLQ_ARN",
    "OFFLOAD_SCHEDULER_ROLE_ARN",
    "OFFLOAD_SCHEDULE_GROUP",
    "OFFLOAD_TABLE",
  ];
  const and = (...more: string[]) => [...dispatching, ...more].sort();
  expect(settings("Submit")).toEqual(and("OFFLOAD_LIMITS"));
  expect(settings("Status")).toEqual([
    ...[
      "OFFLOAD_BUCKET",
      "OFFLOAD_CURSOR_KEY",
      "OFFLOAD_LOG_GROUPS",
      "OFFLOAD_TABLE",
      "OFFLOAD_VERSION",
      "OFFLOAD_WAITS",
    ],
  ]);
  expect(settings("Control")).toEqual(and("OFFLOAD_FIRINGS_URL", "OFFLOAD_LIMITS", "OFFLOAD_WEBHOOK_KEY_NAME"));
  expect(settings("Console")).toEqual(["OFFLOAD_DEPLOYMENT", "OFFLOAD_VERSION"]);
  expect(settings("Authorizer")).toEqual(["OFFLOAD_TABLE"]);
  expect(settings("CriticalWorker")).toEqual(
    and("OFFLOAD_API_URL", "OFFLOAD_FIRINGS_URL", "OFFLOAD_PROBES", "OFFLOAD_TIER", "OFFLOAD_TIME_SCALE"),
  );
  expect(settings("Redrive")).toEqual(and("OFFLOAD_TIME_SCALE"));
  expect(settings("Fire")).toEqual(and("OFFLOAD_LIMITS"));
  expect(settings("Notify")).toEqual(and("OFFLOAD_TIME_SCALE", "OFFLOAD_WEBHOOK_KEY_NAME"));
});

test("the probe types are off", () => {
  expect(functionOf("LowWorker/Function").get("Environment.Variables.OFFLOAD_PROBES")).toBe("0");
});

const feeds: [queue: string, functionName: string, concurrency: number][] = [
  ["CriticalQueue", "CriticalWorker/Function", 200],
  ["HighQueue", "HighWorker/Function", 150],
  ["NormalQueue", "NormalWorker/Function", 100],
  ["LowQueue", "LowWorker/Function", 50],
  ["RedriveQueue", "Redrive/Function", 10],
  ["NotifyQueue", "Notify/Function", 40],
];

describe.each(feeds)("the event source of %s", (queue, functionName, concurrency) => {
  const source = sourceOf(dev, queue);

  test(`the event source feeds ${functionName}`, () => {
    expect(inService(dev, source.get("FunctionName"))).toBe(functionName);
  });

  test(`the event source has at most ${concurrency} batches in progress`, () => {
    expect(source.get("ScalingConfig")).toEqual({ MaximumConcurrency: concurrency });
  });

  test("the event source gets the failed messages of a batch", () => {
    expect(source.get("FunctionResponseTypes")).toEqual(["ReportBatchItemFailures"]);
  });

  test("the event source takes ten messages at once", () => {
    expect(source.get("BatchSize")).toBe(10);
  });

  test("the event source counts what it deleted and what failed", () => {
    expect(source.get("MetricsConfig")).toEqual({ Metrics: ["EventCount"] });
  });
});

test("there is one more event source, for firings that come back to fire", () => {
  expect(allOf(dev.service, "AWS::Lambda::EventSourceMapping")).toHaveLength(feeds.length + 1);
});

describe("tiers with options", () => {
  const chosen = synthesize({
    workerMemorySize: 1024,
    probes: true,
    timeScale: 0.01,
    tiers: {
      critical: { provisionedPollers: { minimum: 2, maximum: 20 } },
      low: { maxConcurrency: 2, memorySize: 2048, batchSize: 5, batchWindow: Duration.seconds(20) },
      high: { timeout: Duration.minutes(5) },
    },
  });
  const worker = (tier: string) => resources(chosen.service, "AWS::Lambda::Function")(`${tier}Worker/Function`);

  test("provisioned pollers replace the limit", () => {
    const source = sourceOf(chosen, "CriticalQueue");
    expect(source.get("ProvisionedPollerConfig")).toEqual({ MinimumPollers: 2, MaximumPollers: 20 });
    expect(source.get("ScalingConfig")).toBeUndefined();
  });

  test("a tier may have its own limit and memory", () => {
    expect(sourceOf(chosen, "LowQueue").get("ScalingConfig")).toEqual({ MaximumConcurrency: 2 });
    expect(worker("Low").get("MemorySize")).toBe(2048);
  });

  test("a tier may have its own batches", () => {
    expect(sourceOf(chosen, "LowQueue").get("BatchSize")).toBe(5);
    expect(sourceOf(chosen, "LowQueue").get("MaximumBatchingWindowInSeconds")).toBe(20);
    expect(sourceOf(chosen, "NormalQueue").get("MaximumBatchingWindowInSeconds")).toBeUndefined();
  });

  test("a queue hides messages longer by the batch window", () => {
    const visibility = (queue: string) => resources(chosen.data, "AWS::SQS::Queue")(queue).get("VisibilityTimeout");
    expect([visibility("LowQueue"), visibility("NormalQueue")]).toEqual([6 * 900 + 20, 6 * 900]);
  });

  test("a tier may have its own time-out, which its queue outlasts", () => {
    expect([worker("High").get("Timeout"), worker("Normal").get("Timeout")]).toEqual([300, 900]);
    expect(resources(chosen.data, "AWS::SQS::Queue")("HighQueue").get("VisibilityTimeout")).toBe(6 * 300);
  });

  test("a time-out that is too short for a task type is refused, because its tasks could never start in that tier", () => {
    expect(() => synthesize({ tiers: { low: { timeout: Duration.seconds(89) } } })).toThrow(
      "tiers.low.timeout of 89 s is too short for the task type echo: its time-out of 60 s and 30 s for claims",
    );
    expect(() => synthesize({ tiers: { low: { timeout: Duration.seconds(90) } } })).not.toThrow();
  });

  test("the other workers have the pipeline's memory", () => {
    expect(worker("Normal").get("MemorySize")).toBe(1024);
  });

  test("probes and shorter waits reach the workers", () => {
    expect(worker("High").get("Environment.Variables")).toMatchObject({
      OFFLOAD_PROBES: "1",
      OFFLOAD_TIME_SCALE: "0.01",
    });
  });
});
