import { reserveSeconds } from "../../core/pipeline/work/batch-plan.ts";
import { limits } from "../plan/figures.ts";
import { type Accepted, acceptedIn } from "./accepted.ts";
import type { Deployment, Resource } from "./deployment.ts";
import { about, aboutEach, type Check, type Finding, type ReviewedType } from "./finding.ts";
import { type Feed, feedsOf, noticeFeedsOf, tiersOf, workersOf } from "./pipeline.ts";
import { ruleCheck } from "./rules.ts";

/** Concurrent invocations of each provisioned poller. */
const invocationsPerPoller = 10;

export const concurrencyBound: Check = {
  id: "concurrency-bound",
  title: "Each event source limits its concurrent invocations",
  severities: ["high"],
  find: ({ deployment }) =>
    feedsOf(deployment)
      .filter((feed) => !isBounded(feed))
      .map(({ mapping, queue }) =>
        about(mapping, {
          severity: "high",
          found: `Nothing limits its invocations: a backlog in ${queue?.name ?? "its queue"} takes the concurrency that the other tiers and functions need.`,
          fix: "Set maxConcurrency, 2 to 1000, or provisionedPollers with a maximum.",
        }),
      ),
};

const isBounded = ({ mapping }: Feed): boolean =>
  mapping.get("ScalingConfig.MaximumConcurrency") !== undefined || mapping.get("ProvisionedPollerConfig") !== undefined;

export const accountConcurrency: Check = {
  id: "account-concurrency",
  title: "All event sources together fit into the account's concurrency",
  severities: ["high"],
  find: ({ deployment, live }) =>
    byEnvironment(deployment).flatMap((feeds): Finding[] => {
      const stated = statedBy(deployment, feeds);
      const shares = countedIn(deployment, feeds, stated).flatMap((feed) => shareOf(deployment, feed));
      const sum = shares.reduce((total, share) => total + share, 0);
      const limit = live?.concurrency ?? limitOf(stated);
      if (sum <= limit) return [];
      return [
        {
          severity: "high",
          subject: "account",
          found: `The event sources may start ${sum} concurrent invocations (${shares.join(" + ")}), and the account has ${limit}${live === undefined ? " according to the app" : ""}: a full tier takes concurrency from the others.`,
          fix: fixFor(limit, stated),
        },
      ];
    }),
};

/** The smallest limit into which the profile `small` fits: two batches of each tier, and two requests. */
const smallLimit = 10;

function fixFor(limit: number, stated: readonly Accepted[]): string {
  const others = `until the sum is at most ${limit}, or ask AWS for a higher limit and set accountConcurrency.`;
  const isForSmall = limit >= smallLimit && limit < limits.accountConcurrency.value && !stated.every(isSmall);
  if (!isForSmall) return `Lower maxConcurrency ${others}`;
  return `Set profile: "small" (-c profile=small), which fits into ${smallLimit}. Or lower maxConcurrency ${others}`;
}

const isSmall = ({ profile }: Accepted): boolean => profile === "small";

/** Facts about the stacks of these event sources. */
const statedBy = (deployment: Deployment, feeds: readonly Feed[]): Accepted[] =>
  acceptedIn(deployment)
    .filter(({ stack }) => feeds.some(({ mapping }) => mapping.stack === stack))
    .map(({ accepted }) => accepted);

/** The account's concurrency limit according to the app. Default: the usual limit of AWS. */
const limitOf = (stated: readonly Accepted[]): number =>
  stated.length === 0
    ? limits.accountConcurrency.value
    : Math.min(...stated.map(({ accountConcurrency }) => accountConcurrency));

/** In the profile `small` only the tiers must fit at the same time: redrive and firings are rare and short. */
function countedIn(deployment: Deployment, feeds: readonly Feed[], stated: readonly Accepted[]): readonly Feed[] {
  if (stated.length === 0 || !stated.every(isSmall)) return feeds;
  const tierQueues = tiersOf(deployment).map(({ queue }) => queue);
  return feeds.filter(({ queue }) => tierQueues.includes(queue));
}

/** Groups event sources by account and region, which share the concurrency limit. */
function byEnvironment(deployment: Deployment): Feed[][] {
  const groups = new Map<string, Feed[]>();
  for (const feed of feedsOf(deployment)) {
    const { environment } = feed.mapping.stack;
    groups.set(environment, [...(groups.get(environment) ?? []), feed]);
  }
  return [...groups.values()];
}

/**
 * Maximum concurrency of an event source. Empty when unknown before a deployment, or when the event source is disabled.
 */
function shareOf(deployment: Deployment, { mapping, enabled }: Feed): number[] {
  const bound = deployment.number(mapping, "ScalingConfig.MaximumConcurrency");
  const pollers = deployment.number(mapping, "ProvisionedPollerConfig.MaximumPollers");
  const share = bound ?? (pollers === undefined ? undefined : pollers * invocationsPerPoller);
  return !enabled || share === undefined ? [] : [share];
}

export const reservedConcurrency: Check = {
  id: "reserved-concurrency",
  title: "No function reserves less concurrency than its event source may use",
  severities: ["critical", "medium"],
  find: ({ deployment }) =>
    feedsOf(deployment).flatMap((feed): Finding[] => {
      const { function: consumer } = feed;
      if (consumer === undefined) return [];
      const reserved = deployment.number(consumer, "ReservedConcurrentExecutions");
      if (reserved === 0) return [about(consumer, neverRuns)];
      const [share] = shareOf(deployment, feed);
      if (reserved === undefined || share === undefined || reserved >= share) return [];
      return [
        about(consumer, {
          severity: "medium",
          found: `It reserves ${reserved} concurrent invocations, but its event source may start ${share}: each throttled invocation uses up a receive of its messages.`,
          fix: "Set maxConcurrency of the event source, and remove reservedConcurrentExecutions or set it higher.",
        }),
      ];
    }),
};

const neverRuns = {
  severity: "critical",
  found: "Its reserved concurrency is 0: it never runs.",
  fix: "Remove reservedConcurrentExecutions.",
} as const;

export const tierCapacity: Check = {
  id: "tier-capacity",
  title: "Each tier has a queue, and a worker that takes messages from it",
  severities: ["critical"],
  find: ({ deployment }) => {
    const tiers = tiersOf(deployment);
    if (tiers.length === 0) return [noTiers];
    const working = new Set(
      feedsOf(deployment)
        .filter(({ enabled }) => enabled)
        .map(({ queue }) => queue),
    );
    const off = new Set(feedsOf(deployment).map(({ queue }) => queue));
    return tiers.flatMap(({ tier, stack, queue }): Finding[] => {
      if (queue === undefined) return [{ ...noQueue, subject: `${stack.name} tier ${tier}` }];
      if (working.has(queue)) return [];
      return [about(queue, idle(off.has(queue)))];
    });
  },
};

const noTiers: Finding = {
  severity: "critical",
  subject: "account",
  found: "No function has the URLs of the tiers' queues.",
  fix: "Create the pipeline with the TaskPipeline construct, which sets OFFLOAD_QUEUE_URLS.",
};

const noQueue = {
  severity: "critical",
  found: "The functions' settings name a queue for this tier that no stack contains.",
  fix: "Let the TaskPipeline construct set OFFLOAD_QUEUE_URLS.",
} as const;

const idle = (isOff: boolean) =>
  ({
    severity: "critical",
    found: `No worker takes messages from it: ${isOff ? "its event source is disabled" : "it has no event source"}, so tasks wait until their messages expire.`,
    fix: isOff ? "Enable the event source." : "Give the tier a worker with an event source.",
  }) as const;

export const partialBatches = ruleCheck(
  "partial-batches",
  "Event sources keep the messages that a function reports as failed",
  {
    severity: "critical",
    broken: (deployment) =>
      feedsOf(deployment)
        .map(({ mapping }) => mapping)
        .filter((mapping) => !mapping.list("FunctionResponseTypes").includes("ReportBatchItemFailures")),
    found: "Lambda ignores the failures that the function reports and deletes the whole batch: tasks are lost.",
    fix: "Set reportBatchItemFailures: true.",
  },
);

export const recursion = ruleCheck(
  "recursion",
  "Workers and the function of notices may send retries to their own queues",
  {
    severity: "high",
    broken: (deployment) =>
      [...workersOf(deployment), ...noticeFeedsOf(deployment).flatMap(({ feed }) => feed?.function ?? [])].filter(
        (fn) => deployment.text(fn, "RecursiveLoop") !== "Allow",
      ),
    found: "Lambda treats its retries as an endless loop, and stops them after about 16.",
    fix: "Set recursiveLoop: RecursiveLoop.ALLOW.",
  },
);

export const typeTimeout: Check = {
  id: "type-timeout",
  title: "Each type's time-out fits into the worker's time-out",
  severities: ["critical"],
  find: ({ deployment, types }) => {
    const shortest = shortestWorker(deployment);
    if (shortest === undefined) return [];
    const { worker, seconds } = shortest;
    const isTooLong = ({ runsOn, timeoutSeconds }: ReviewedType) =>
      runsOn === "function" && timeoutSeconds + reserveSeconds > seconds;
    return aboutEach(types.filter(isTooLong), ({ timeoutSeconds }) => ({
      severity: "critical",
      found: `Its attempts may take ${timeoutSeconds} s plus ${reserveSeconds} s to claim and settle, but ${worker.name} has a time-out of ${seconds} s: no attempt ever starts there.`,
      fix: `Lower timeoutSeconds to at most ${Math.max(1, seconds - reserveSeconds)}, or raise the worker's timeout.`,
    }));
  },
};

/** Returns the worker with the shortest time-out. It decides, because a task may be submitted to any tier. */
function shortestWorker(deployment: Deployment): { worker: Resource; seconds: number } | undefined {
  return workersOf(deployment)
    .map((worker) => ({ worker, seconds: deployment.number(worker, "Timeout", 3) }))
    .filter((one): one is { worker: Resource; seconds: number } => one.seconds !== undefined)
    .sort((a, b) => a.seconds - b.seconds)[0];
}

export const capacityChecks: readonly Check[] = [
  tierCapacity,
  partialBatches,
  concurrencyBound,
  accountConcurrency,
  reservedConcurrency,
  recursion,
  typeTimeout,
];
