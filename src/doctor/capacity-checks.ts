import { settleReserveSeconds } from "../core/batch-plan.ts";
import { limits } from "../plan/figures.ts";
import { acceptedIn } from "./accepted.ts";
import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Finding } from "./finding.ts";
import { type Feed, feedsOf, tiersOf, workersOf } from "./pipeline.ts";

/** Invocations at once of each provisioned poller. */
const invocationsPerPoller = 10;

export const concurrencyBound: Check = {
  id: "concurrency-bound",
  title: "Each event source bounds how many invocations it starts at once",
  severities: ["high"],
  find: ({ deployment }) =>
    feedsOf(deployment)
      .filter((feed) => !isBounded(feed))
      .map(({ mapping, queue }) =>
        about(mapping, {
          severity: "high",
          found: `Nothing bounds its invocations: a backlog in ${queue?.name ?? "its queue"} takes what the other tiers, and all else in the account, need.`,
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
      const shares = feeds.flatMap((feed) => shareOf(deployment, feed));
      const sum = shares.reduce((total, share) => total + share, 0);
      const limit = live?.concurrency ?? statedLimit(deployment, feeds);
      if (sum <= limit) return [];
      return [
        {
          severity: "high",
          subject: "account",
          found: `The event sources may start ${sum} invocations at once (${shares.join(" + ")}), and the account has ${limit}${live === undefined ? ", as far as the app says" : ""}: a full tier takes from the others.`,
          fix: `Lower maxConcurrency until the sum is at most ${limit}, or ask AWS for more, and tell the app by accountConcurrency.`,
        },
      ];
    }),
};

/** What the stacks of some event sources say about their account; AWS's usual limit where they say nothing. */
function statedLimit(deployment: Deployment, feeds: readonly Feed[]): number {
  const stated = acceptedIn(deployment)
    .filter(({ stack }) => feeds.some(({ mapping }) => mapping.stack === stack))
    .map(({ accepted }) => accepted.accountConcurrency);
  return stated.length === 0 ? limits.accountConcurrency.value : Math.min(...stated);
}

/** Stacks of one account and region share its concurrency. */
function byEnvironment(deployment: Deployment): Feed[][] {
  const groups = Map.groupBy(feedsOf(deployment), ({ mapping }) => mapping.stack.environment);
  return [...groups.values()];
}

/** What an event source may take; nothing when it is not known before a deployment, or is turned off. */
function shareOf(deployment: Deployment, { mapping, enabled }: Feed): number[] {
  const bound = deployment.number(mapping, "ScalingConfig.MaximumConcurrency");
  const pollers = deployment.number(mapping, "ProvisionedPollerConfig.MaximumPollers");
  const share = bound ?? (pollers === undefined ? undefined : pollers * invocationsPerPoller);
  return !enabled || share === undefined ? [] : [share];
}

export const reservedConcurrency: Check = {
  id: "reserved-concurrency",
  title: "No function reserves less than its event source may start",
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
          found: `It reserves ${reserved} invocations, and its event source may start ${share}: each throttled one costs its messages a receive.`,
          fix: "Bound the event source by maxConcurrency, and leave reservedConcurrentExecutions away or above it.",
        }),
      ];
    }),
};

const neverRuns = {
  severity: "critical",
  found: "It reserves no concurrency: it never runs.",
  fix: "Take reservedConcurrentExecutions away.",
} as const;

export const tierCapacity: Check = {
  id: "tier-capacity",
  title: "Each tier has a queue, and a worker that takes from it",
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
  found: "No function knows the tiers' queues.",
  fix: "Make the pipeline with the TaskPipeline construct, which sets OFFLOAD_QUEUE_URLS.",
};

const noQueue = {
  severity: "critical",
  found: "The functions name a queue for the tier that is in no stack.",
  fix: "Let the TaskPipeline construct set OFFLOAD_QUEUE_URLS.",
} as const;

const idle = (isOff: boolean) =>
  ({
    severity: "critical",
    found: `Nobody takes from it: ${isOff ? "its event source is disabled" : "it has no event source"}, so tasks wait until their messages expire.`,
    fix: isOff ? "Enable the event source." : "Give the tier a worker with an event source.",
  }) as const;

export const partialBatches: Check = {
  id: "partial-batches",
  title: "Event sources put back the messages that a function reports as failed",
  severities: ["critical"],
  find: ({ deployment }) =>
    feedsOf(deployment)
      .filter(({ mapping }) => !mapping.list("FunctionResponseTypes").includes("ReportBatchItemFailures"))
      .map(({ mapping }) =>
        about(mapping, {
          severity: "critical",
          found: "What the function reports as failed is not read: Lambda deletes the whole batch, and tasks are lost.",
          fix: "Set reportBatchItemFailures: true.",
        }),
      ),
};

export const recursion: Check = {
  id: "recursion",
  title: "Workers may send retries to their own queues",
  severities: ["high"],
  find: ({ deployment }) =>
    workersOf(deployment)
      .filter((worker) => deployment.text(worker, "RecursiveLoop") !== "Allow")
      .map((worker) =>
        about(worker, {
          severity: "high",
          found: "Lambda takes its retries for an endless loop, and stops them after about 16.",
          fix: "Set recursiveLoop: RecursiveLoop.ALLOW.",
        }),
      ),
};

export const typeTimeout: Check = {
  id: "type-timeout",
  title: "Each type's time-out fits into the worker's",
  severities: ["critical"],
  find: ({ deployment, types }) => {
    const shortest = shortestWorker(deployment);
    if (shortest === undefined) return [];
    const { worker, seconds } = shortest;
    return types
      .filter(({ timeoutSeconds }) => timeoutSeconds + settleReserveSeconds > seconds)
      .map(({ name, timeoutSeconds }) => ({
        severity: "critical",
        subject: `task ${name}`,
        found: `Its attempts may take ${timeoutSeconds} s, and ${settleReserveSeconds} s to settle; ${worker.name} has ${seconds} s: none ever starts there.`,
        fix: `Lower timeoutSeconds to at most ${Math.max(1, seconds - settleReserveSeconds)}, or raise the worker's timeout.`,
      }));
  },
};

/** A task may be submitted to any tier: the shortest worker decides. */
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
