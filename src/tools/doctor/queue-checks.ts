import { maxReceiveCount } from "../../settings/config.ts";
import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Finding } from "./finding.ts";
import {
  bucketsOf,
  containerQueuesOf,
  type Feed,
  feedsOf,
  finalQueuesOf,
  redriveTargetOf,
  tiersOf,
} from "./pipeline.ts";
import { ruleCheck } from "./rules.ts";

/** Defaults of AWS for properties that a template does not set, in seconds. */
const awsDefaults = { visibility: 30, timeout: 3, retention: 345_600 } as const;

/** AWS advises a visibility time-out of six times the function's time-out. */
const visibilityFactor = 6;

export const visibility: Check = {
  id: "visibility",
  title: "Each queue's visibility time-out is at least six times its function's time-out",
  severities: ["critical", "high"],
  find: ({ deployment }) =>
    complete(deployment).flatMap(({ mapping, queue, function: consumer }): Finding[] => {
      const seconds = deployment.number(queue, "VisibilityTimeout", awsDefaults.visibility);
      const timeout = deployment.number(consumer, "Timeout", awsDefaults.timeout);
      const window = deployment.number(mapping, "MaximumBatchingWindowInSeconds", 0);
      if (seconds === undefined || timeout === undefined || window === undefined) return [];
      const least = timeout * visibilityFactor + window;
      if (seconds >= least) return [];
      const found = `The visibility time-out is ${seconds} s, and the time-out of ${consumer.name} is ${timeout} s`;
      return [
        about(queue, {
          severity: seconds < timeout ? "critical" : "high",
          found:
            seconds < timeout
              ? `${found}: AWS refuses the event source.`
              : `${found}: throttled messages become visible too early, and healthy messages use up their receives.`,
          fix: `Set visibilityTimeout to at least ${least} s: six time-outs plus the batching window.`,
        }),
      ];
    }),
};

export const redrivePolicy: Check = {
  id: "redrive-policy",
  title: "Each tier has a DLQ, and each consumed queue has a redrive policy with enough receives",
  severities: ["critical", "medium"],
  find: ({ deployment }) => [
    ...consumedQueues(deployment).flatMap((queue) => redriveFindings(deployment, queue)),
    ...tiersOf(deployment)
      .filter(({ dlq }) => dlq === undefined)
      .map(({ tier, stack }): Finding => ({ ...noDlq, subject: `${stack.name} tier ${tier}` })),
  ],
};

const noDlq = {
  severity: "critical",
  found: "Its functions' settings name a DLQ that no stack contains: failed tasks cannot become dead letters.",
  fix: "Let the TaskPipeline construct set OFFLOAD_DLQ_URLS.",
} as const;

function redriveFindings(deployment: Deployment, queue: Resource): Finding[] {
  if (queue.get("RedrivePolicy") === undefined) {
    return [
      about(queue, {
        severity: "critical",
        found:
          "It has no redrive policy: a message that kills its worker is delivered again until its retention ends, and is then lost.",
        fix: `Set deadLetterQueue: { queue, maxReceiveCount: ${maxReceiveCount} }.`,
      }),
    ];
  }
  const receives = deployment.number(queue, "RedrivePolicy.maxReceiveCount");
  if (receives === undefined || receives >= maxReceiveCount) return [];
  return [
    about(queue, {
      severity: "medium",
      found: `It gives up after ${receives} receives. Throttled receives count too, so a burst removes healthy messages from the queue.`,
      fix: `Set maxReceiveCount to at least ${maxReceiveCount}.`,
    }),
  ];
}

export const retention: Check = {
  id: "retention",
  title: "Each queue keeps messages at least as long as the queues that move messages to it",
  severities: ["high"],
  find: ({ deployment }) =>
    [...sourcesOf(deployment)].flatMap(([to, sources]) => retentionFindings(deployment, to, sources)),
};

/** Maps each queue to the queues that move messages to it. */
function sourcesOf(deployment: Deployment): Map<Resource, Resource[]> {
  const redriven = deployment
    .ofType("AWS::SQS::Queue")
    .map((from) => ({ from, to: redriveTargetOf(deployment, from) }));
  const buried = tiersOf(deployment).map(({ queue: from, dlq: to }) => ({ from, to }));
  const sources = new Map<Resource, Resource[]>();
  for (const { from, to } of [...redriven, ...buried]) {
    if (from !== undefined && to !== undefined) sources.set(to, [...(sources.get(to) ?? []), from]);
  }
  return sources;
}

const retentionOf = (deployment: Deployment, queue: Resource) =>
  deployment.number(queue, "MessageRetentionPeriod", awsDefaults.retention);

/** One finding for a queue, with all source queues that keep messages longer than it. */
function retentionFindings(deployment: Deployment, to: Resource, sources: readonly Resource[]): Finding[] {
  const after = retentionOf(deployment, to);
  const longest = Math.max(...sources.map((from) => retentionOf(deployment, from) ?? 0));
  if (after === undefined || after >= longest) return [];
  const longer = sources.filter((from) => (retentionOf(deployment, from) ?? 0) > after);
  return [
    about(to, {
      severity: "high",
      found: `It keeps messages for ${days(after)}, less than the ${days(longest)} of ${longer.map(({ name }) => name).join(", ")}: a moved message keeps its age, and can be deleted before anyone sees it.`,
      fix: `Set retentionPeriod to at least ${days(longest)}; the maximum is 14 days.`,
    }),
  ];
}

const managedIs = (deployment: Deployment, managed: string): Resource[] =>
  deployment
    .ofType("AWS::SQS::Queue")
    .filter((queue) => queue.get("KmsMasterKeyId") === undefined)
    .filter((queue) => deployment.text(queue, "SqsManagedSseEnabled") === managed);

const encryptionFix = "Set encryption to QueueEncryption.SQS_MANAGED, which costs nothing.";

export const encryption = ruleCheck(
  "encryption",
  "Each queue is encrypted",
  {
    severity: "high",
    broken: (deployment) => managedIs(deployment, "false"),
    found: "Its messages, which contain the tasks' inputs, are not encrypted.",
    fix: encryptionFix,
  },
  {
    severity: "low",
    broken: (deployment) => managedIs(deployment, ""),
    found: "It sets no encryption and relies on the default of SQS.",
    fix: encryptionFix,
  },
);

export const tlsOnly = ruleCheck("tls-only", "Each queue and the bucket refuse requests without TLS", {
  severity: "medium",
  broken: (deployment) => {
    const guarded = new Set(
      deployment
        .ofType("AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy")
        .filter((policy) => policy.list("PolicyDocument.Statement").some(deniesPlainText))
        .flatMap((policy) =>
          [...policy.list("Queues"), ...policy.list("Bucket")].map((one) => deployment.targetOf(policy.stack, one)),
        ),
    );
    return [...deployment.ofType("AWS::SQS::Queue"), ...bucketsOf(deployment)].filter(
      (resource) => !guarded.has(resource),
    );
  },
  found: "It has no policy that refuses requests without TLS.",
  fix: "Set enforceSSL: true.",
});

function deniesPlainText(statement: unknown): boolean {
  const { Effect, Condition } = statement as { Effect?: unknown; Condition?: { Bool?: Record<string, unknown> } };
  return Effect === "Deny" && String(Condition?.Bool?.["aws:SecureTransport"]) === "false";
}

export const publicQueue = ruleCheck("public-queue", "No queue policy allows everyone", {
  severity: "critical",
  broken: (deployment) =>
    deployment
      .ofType("AWS::SQS::QueuePolicy")
      .filter((policy) => policy.list("PolicyDocument.Statement").some(allowsEveryone)),
  found: "It allows everyone: principal * without a condition.",
  fix: "Name the principal, or add a condition such as aws:SourceArn.",
});

function allowsEveryone(statement: unknown): boolean {
  const { Effect, Principal, Condition } = statement as { Effect?: unknown; Principal?: unknown; Condition?: unknown };
  const everyone = Principal === "*" || [(Principal as { AWS?: unknown } | undefined)?.AWS].flat().includes("*");
  return Effect === "Allow" && everyone && Condition === undefined;
}

export const scheduleDlq = ruleCheck(
  "schedule-dlq",
  "Each schedule of the app has a dead-letter queue for undelivered firings",
  {
    severity: "high",
    broken: (deployment) =>
      deployment
        .ofType("AWS::Scheduler::Schedule")
        .filter((schedule) => schedule.get("Target.DeadLetterConfig") === undefined),
    found: "EventBridge Scheduler drops firings that it cannot deliver, without a trace.",
    fix: "Set deadLetterConfig on its target.",
  },
);

export const dlqAlarm = ruleCheck("dlq-alarm", "An alarm watches each dead-letter queue", {
  severity: "high",
  broken: (deployment) => {
    const watched = new Set(watchedQueues(deployment));
    return finalQueuesOf(deployment).filter((queue) => !watched.has(queue));
  },
  found: "No alarm watches ApproximateNumberOfMessagesVisible: failed work arrives here unnoticed.",
  fix: "Add an alarm for a depth above 0. `TaskPipeline` makes one, unless its `alarms` is false.",
});

/** A metric within an alarm. */
interface MetricJson {
  MetricName?: unknown;
  Dimensions?: { Value?: unknown }[];
}

/** Returns the queues whose depth an alarm watches, directly or within an expression. */
function watchedQueues(deployment: Deployment): (Resource | undefined)[] {
  return deployment.ofTypeAnywhere("AWS::CloudWatch::Alarm").flatMap((alarm) => {
    const within = alarm.list("Metrics") as { MetricStat?: { Metric?: MetricJson } }[];
    const own: MetricJson = {
      MetricName: alarm.get("MetricName"),
      Dimensions: alarm.list("Dimensions") as { Value?: unknown }[],
    };
    return [own, ...within.map(({ MetricStat }) => MetricStat?.Metric ?? {})]
      .filter(({ MetricName }) => MetricName === "ApproximateNumberOfMessagesVisible")
      .flatMap(({ Dimensions = [] }) => Dimensions.map(({ Value }) => deployment.targetOf(alarm.stack, Value)));
  });
}

type CompleteFeed = Feed & { queue: Resource; function: Resource };

const complete = (deployment: Deployment): CompleteFeed[] =>
  feedsOf(deployment).filter((feed): feed is CompleteFeed => feed.queue !== undefined && feed.function !== undefined);

const consumedQueues = (deployment: Deployment): Resource[] => [
  ...new Set([...feedsOf(deployment).flatMap(({ queue }) => queue ?? []), ...containerQueuesOf(deployment)]),
];

/** Formats seconds: `7 days`, `90 s`. */
const days = (seconds: number): string => {
  if (seconds % 86_400 !== 0) return `${seconds} s`;
  return seconds === 86_400 ? "1 day" : `${seconds / 86_400} days`;
};

export const queueChecks: readonly Check[] = [
  visibility,
  redrivePolicy,
  dlqAlarm,
  scheduleDlq,
  retention,
  encryption,
  tlsOnly,
  publicQueue,
];
