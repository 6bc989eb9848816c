import { CfnResource, Duration, RemovalPolicy } from "aws-cdk-lib";
import { CfnAlarm } from "aws-cdk-lib/aws-cloudwatch";
import { PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import type { CfnQueue } from "aws-cdk-lib/aws-sqs";
import type { IConstruct } from "constructs";
import * as z from "zod";
import { defineTask, type TaskType } from "../../../src/core/task/task.ts";
import type { Severity } from "../../../src/tools/doctor/finding.ts";
import type { Sketch } from "./synthesis.ts";

/** A mistake that somebody can make in an app, and what is to be found of it. */
export interface Mistake {
  check: string;
  severity: Severity;
  subject: string;
  /** A part of what is found. */
  found: string | RegExp;
  /** A task type that has it. */
  type?: TaskType;
  /** Or what makes it in an app. */
  plant?: (sketch: Sketch) => void;
}

/** A resource by its construct's path below the pipeline. */
function at({ pipeline }: Sketch, path: string): CfnResource {
  const found = path.split("/").reduce<IConstruct | undefined>((one, id) => one?.node.tryFindChild(id), pipeline);
  const resource = found instanceof CfnResource ? found : found?.node.defaultChild;
  if (resource instanceof CfnResource) return resource;
  throw new Error(`there is no resource at ${path}`);
}

/** The event source of a function. */
function feedOf(sketch: Sketch, path: string): CfnResource {
  const consumer = at(sketch, `${path}/Function`).node.scope;
  const found = consumer?.node.findAll().find((one) => one instanceof CfnEventSourceMapping);
  if (found instanceof CfnResource) return found;
  throw new Error(`${path} has no event source`);
}

const set = (path: string, property: string, value: unknown) => (sketch: Sketch) =>
  at(sketch, path).addPropertyOverride(property, value);

const setFeed = (path: string, property: string, value: unknown) => (sketch: Sketch) =>
  feedOf(sketch, path).addPropertyOverride(property, value);

/** The alarm on a queue's depth. */
function silence(sketch: Sketch, queue: string, property: string, value: unknown): void {
  const { service } = sketch.pipeline;
  const name = JSON.stringify(service.resolve((at(sketch, queue) as CfnQueue).attrQueueName));
  const alarms = service.node.findAll().filter((one) => one instanceof CfnAlarm);
  const watching = alarms.filter(
    (alarm) =>
      alarm.metricName === "ApproximateNumberOfMessagesVisible" &&
      JSON.stringify(service.resolve(alarm.dimensions)).includes(name),
  );
  if (watching.length === 0) throw new Error(`no alarm watches ${queue}`);
  for (const alarm of watching) alarm.addPropertyOverride(property, value);
}

const input = z.strictObject({ id: z.uuid() });
const common = { description: "Does something.", input, timeoutSeconds: 30, handler: () => null };

/** Ten mistakes of the kinds that cost most. */
export const ten: readonly Mistake[] = [
  {
    check: "visibility",
    severity: "high",
    subject: "Offload/Data/CriticalQueue",
    found: /time-out is 1000 s, and the time-out of Offload\/Service\/CriticalWorker\/Function is 900 s/,
    plant: set("Data/CriticalQueue", "VisibilityTimeout", 1000),
  },
  {
    check: "redrive-policy",
    severity: "critical",
    subject: "Offload/Data/NormalQueue",
    found: "no redrive policy",
    plant: (sketch) => at(sketch, "Data/NormalQueue").addPropertyDeletionOverride("RedrivePolicy"),
  },
  {
    check: "retention",
    severity: "high",
    subject: "Offload/Data/RedriveQueue",
    found: "for 1 day, less than the 14 days of Offload/Data/",
    plant: set("Data/RedriveQueue", "MessageRetentionPeriod", 86_400),
  },
  {
    check: "encryption",
    severity: "high",
    subject: "Offload/Data/HighDlq",
    found: "not encrypted",
    plant: set("Data/HighDlq", "SqsManagedSseEnabled", false),
  },
  {
    check: "concurrency-bound",
    severity: "high",
    subject: "",
    found: "a backlog in Offload/Data/HighQueue takes the concurrency that the other tiers",
    plant: (sketch) => feedOf(sketch, "Service/HighWorker").addPropertyDeletionOverride("ScalingConfig"),
  },
  {
    check: "tier-capacity",
    severity: "critical",
    subject: "Offload/Data/LowQueue",
    found: "its event source is disabled",
    plant: setFeed("Service/LowWorker", "Enabled", false),
  },
  {
    check: "log-retention",
    severity: "medium",
    subject: "Offload/Service/Submit/Logs",
    found: "forever",
    plant: (sketch) => at(sketch, "Service/Submit/Logs").addPropertyDeletionOverride("RetentionInDays"),
  },
  {
    check: "backoff",
    severity: "medium",
    subject: "task every.minute",
    found: "each wait is 60 s",
    type: defineTask({ ...common, name: "every.minute", retry: { waitsSeconds: [60] } }),
  },
  {
    check: "retries-final",
    severity: "high",
    subject: "task never.ends",
    found: "an input that does not match its schema, a ZodError, an HTTP 400, an HTTP 422.",
    type: defineTask({ ...common, name: "never.ends", retry: { kinds: { validation: { baseSeconds: 30 } } } }),
  },
  {
    check: "input-schema",
    severity: "medium",
    subject: "task takes.all",
    found: "may be anything",
    type: defineTask({ ...common, name: "takes.all", input: z.any() }),
  },
];

/** More mistakes that go together with one another. */
export const more: readonly Mistake[] = [
  {
    check: "visibility",
    severity: "critical",
    subject: "Offload/Data/RedriveQueue",
    found: "AWS refuses",
    plant: set("Data/RedriveQueue", "VisibilityTimeout", 30),
  },
  {
    check: "redrive-policy",
    severity: "medium",
    subject: "Offload/Data/LowQueue",
    found: "after 2 receives",
    plant: set("Data/LowQueue", "RedrivePolicy.maxReceiveCount", 2),
  },
  {
    check: "retention",
    severity: "high",
    subject: "Offload/Data/LowDlq",
    found: "less than the 14 days of Offload/Data/LowQueue",
    plant: set("Data/LowDlq", "MessageRetentionPeriod", 3600),
  },
  {
    check: "dlq-alarm",
    severity: "high",
    subject: "Offload/Data/NormalDlq",
    found: "No alarm watches",
    plant: (sketch) => silence(sketch, "Data/NormalDlq", "MetricName", "NumberOfMessagesSent"),
  },
  {
    check: "tls-only",
    severity: "medium",
    subject: "Offload/Data/LowDlq",
    found: "without TLS",
    plant: (sketch) => sketch.pipeline.data.dlqs.low.node.tryRemoveChild("Policy"),
  },
  {
    check: "public-queue",
    severity: "critical",
    subject: "Offload/Data/HighQueue/Policy",
    found: "allows everyone",
    plant: ({ pipeline }) => {
      const open = { Effect: "Allow", Principal: "*", Action: "sqs:SendMessage", Resource: "*" };
      pipeline.data.queues.high.addToResourcePolicy(PolicyStatement.fromJson(open));
    },
  },
  {
    check: "account-concurrency",
    severity: "high",
    subject: "account",
    found: /may start 1\d\d\d concurrent invocations .*, and the account has 1000/,
    plant: setFeed("Service/CriticalWorker", "ScalingConfig.MaximumConcurrency", 900),
  },
  {
    check: "reserved-concurrency",
    severity: "medium",
    subject: "Offload/Service/NormalWorker/Function",
    found: "It reserves 5 concurrent invocations",
    plant: set("Service/NormalWorker/Function", "ReservedConcurrentExecutions", 5),
  },
  {
    check: "reserved-concurrency",
    severity: "critical",
    subject: "Offload/Service/Redrive/Function",
    found: "it never runs",
    plant: set("Service/Redrive/Function", "ReservedConcurrentExecutions", 0),
  },
  {
    check: "layer-processor",
    severity: "high",
    subject: "Offload/Service/LowWorker/Function",
    found: "aws-otel-nodejs-amd64-ver-1-30-2:1 is for x86_64",
    plant: set("Service/LowWorker/Function", "Layers", [
      "arn:aws:lambda:eu-central-1:901920570463:layer:aws-otel-nodejs-amd64-ver-1-30-2:1",
    ]),
  },
  {
    check: "partial-batches",
    severity: "critical",
    subject: "",
    found: "deletes the whole batch",
    plant: (sketch) => feedOf(sketch, "Service/Redrive").addPropertyDeletionOverride("FunctionResponseTypes"),
  },
  {
    check: "recursion",
    severity: "high",
    subject: "Offload/Service/LowWorker/Function",
    found: "endless loop",
    plant: (sketch) => at(sketch, "Service/LowWorker/Function").addPropertyDeletionOverride("RecursiveLoop"),
  },
  {
    check: "visibility",
    severity: "high",
    subject: "Offload/Data/NotifyQueue",
    found: /time-out is 90 s, and the time-out of Offload\/Service\/Notify\/Function is 30 s/,
    plant: set("Data/NotifyQueue", "VisibilityTimeout", 90),
  },
  {
    check: "encryption",
    severity: "high",
    subject: "Offload/Data/NotifyDlq",
    found: "not encrypted",
    plant: set("Data/NotifyDlq", "SqsManagedSseEnabled", false),
  },
  {
    check: "dlq-alarm",
    severity: "high",
    subject: "Offload/Data/NotifyDlq",
    found: "No alarm watches",
    plant: (sketch) => silence(sketch, "Data/NotifyDlq", "MetricName", "NumberOfMessagesSent"),
  },
  {
    check: "recursion",
    severity: "high",
    subject: "Offload/Service/Notify/Function",
    found: "endless loop",
    plant: (sketch) => at(sketch, "Service/Notify/Function").addPropertyDeletionOverride("RecursiveLoop"),
  },
  {
    check: "callback-hosts",
    severity: "high",
    subject: "Offload/Service/Notify/Function",
    found: "may send webhooks to 127.0.0.1:9001, [::1]:80: to the function's own machine",
    plant: set(
      "Service/Notify/Function",
      "Environment.Variables.OFFLOAD_CALLBACK_HOSTS",
      "127.1:9001,[::1]:80,10.0.0.7:80",
    ),
  },
  {
    check: "type-timeout",
    severity: "critical",
    subject: "task mail.send",
    found:
      "Its attempts may take 60 s plus 30 s to claim and settle, but Offload/Service/HighWorker/Function has a time-out of 70 s",
    plant: set("Service/HighWorker/Function", "Timeout", 70),
  },
  {
    check: "alarm-action",
    severity: "medium",
    subject: "Offload/Service/Own",
    found: "notifies no one",
    plant: ({ pipeline }) => {
      const watch = { namespace: "AWS/SQS", metricName: "NumberOfMessagesSent", statistic: "Sum", period: 60 };
      const rule = { threshold: 1, evaluationPeriods: 1, comparisonOperator: "GreaterThanThreshold" };
      new CfnAlarm(pipeline.service, "Own", { ...watch, ...rule });
    },
  },
  {
    check: "iam-wildcard",
    severity: "high",
    subject: "Offload/Service/Submit/Role/DefaultPolicy",
    found: "It allows the actions dynamodb:*, and dynamodb:* on every resource",
    plant: ({ pipeline }) => {
      const role = pipeline.service.node.findChild("Submit").node.findChild("Role") as Role;
      role.addToPrincipalPolicy(new PolicyStatement({ actions: ["dynamodb:*"], resources: ["*"] }));
    },
  },
  {
    check: "iam-wildcard",
    severity: "high",
    subject: "Offload/Service/Status/Role",
    found: "all of AdministratorAccess",
    plant: set("Service/Status/Role", "ManagedPolicyArns", ["arn:aws:iam::aws:policy/AdministratorAccess"]),
  },
  {
    check: "bucket-lifecycle",
    severity: "high",
    subject: "Offload/Data/Bucket",
    found: "deletes objects after 30 days",
    plant: ({ pipeline }) => pipeline.data.bucket.addLifecycleRule({ expiration: Duration.days(30) }),
  },
  {
    check: "bucket-access",
    severity: "medium",
    subject: "Offload/Data/Bucket",
    found: "It keeps versions",
    plant: set("Data/Bucket", "VersioningConfiguration", { Status: "Enabled" }),
  },
  {
    check: "unregistered-type",
    severity: "medium",
    subject: "task own.secret",
    found: "the API does not accept it",
    plant: ({ types }) => types.push(defineTask({ ...common, name: "own.secret" })),
  },
  {
    check: "backoff",
    severity: "medium",
    subject: "task in.step",
    found: "waits have no jitter",
    type: defineTask({ ...common, name: "in.step", retry: { baseSeconds: 10, jitter: "none" } }),
  },
  {
    check: "backoff",
    severity: "medium",
    subject: "task crash.loop",
    found: "After failures of kind crashed, each wait is 5 s",
    type: defineTask({ ...common, name: "crash.loop", retry: { kinds: { crashed: { waitsSeconds: [5] } } } }),
  },
  {
    check: "retries-final",
    severity: "high",
    subject: "task all.transient",
    found: "PermanentError, BusinessRuleViolation",
    type: defineTask({ ...common, name: "all.transient", classify: [() => "transient"] }),
  },
];

/** The workers' list has lost a type. */
export const lost: readonly Mistake[] = [
  {
    check: "unregistered-type",
    severity: "critical",
    subject: "task mail.send",
    found: "the workers do not know it",
    plant: ({ types }) => types.splice(0),
  },
];

/** Mistakes that only matter where data is kept. */
export const unsafe: readonly Mistake[] = [
  {
    check: "redrive-policy",
    severity: "critical",
    subject: "Offload/Data/NotifyQueue",
    found: "no redrive policy",
    plant: (sketch) => at(sketch, "Data/NotifyQueue").addPropertyDeletionOverride("RedrivePolicy"),
  },
  {
    check: "notice-feed",
    severity: "high",
    subject: "Offload/Data/NotifyQueue",
    found: "no webhook, channel message or event is sent",
    plant: setFeed("Service/Notify", "Enabled", false),
  },
  {
    check: "bucket-lifecycle",
    severity: "medium",
    subject: "Offload/Data/Bucket",
    found: "No lifecycle rule ends unfinished uploads",
    plant: (sketch) => at(sketch, "Data/Bucket").addPropertyDeletionOverride("LifecycleConfiguration"),
  },
  {
    check: "bucket-access",
    severity: "critical",
    subject: "Offload/Data/Bucket",
    found: "does not block public access",
    plant: set("Data/Bucket", "PublicAccessBlockConfiguration.BlockPublicPolicy", false),
  },
  {
    check: "tls-only",
    severity: "medium",
    subject: "Offload/Data/Bucket",
    found: "no policy that refuses requests without TLS",
    plant: set("Data/Bucket/Policy", "PolicyDocument.Statement", []),
  },
  {
    check: "recovery",
    severity: "high",
    subject: "Offload/Data/Table",
    found: "no point-in-time recovery",
    plant: set("Data/Table", "Replicas.0.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", false),
  },
  {
    check: "recovery",
    severity: "high",
    subject: "Offload/Data/Table",
    found: "one call can delete it",
    plant: set("Data/Table", "Replicas.0.DeletionProtectionEnabled", false),
  },
  {
    check: "recovery",
    severity: "high",
    subject: "Offload-prod-data",
    found: "no termination protection",
    plant: ({ pipeline }) => {
      pipeline.data.terminationProtection = false;
    },
  },
  {
    check: "recovery",
    severity: "high",
    subject: "Offload/Data/LowDlq",
    found: "deleted with its stack",
    plant: (sketch) => at(sketch, "Data/LowDlq").applyRemovalPolicy(RemovalPolicy.DESTROY),
  },
];

/** Mistakes in an app with container workers. */
export const ofContainers: readonly Mistake[] = [
  {
    check: "container-stop",
    severity: "high",
    subject: "Offload/Service/Containers/Task",
    found: "ECS kills it after 20 s",
    plant: set("Service/Containers/Task", "ContainerDefinitions.0.StopTimeout", 20),
  },
  {
    check: "container-count",
    severity: "high",
    subject: "Offload/Service/Containers/Service/Service",
    found: "against the scaling",
    plant: set("Service/Containers/Service/Service", "DesiredCount", 1),
  },
  {
    check: "redrive-policy",
    severity: "critical",
    subject: "Offload/Data/Containers/Low",
    found: "It has no redrive policy",
    plant: set("Data/Containers/Low", "RedrivePolicy", undefined),
  },
];
