import { purgeRule } from "../../core/schedules/rule-input.ts";
import { releases, skippedBetween } from "../../settings/releases.ts";
import type { Deployment, Resource } from "./deployment.ts";
import { about, type Check, type Finding } from "./finding.ts";
import type { LiveFunction, LiveQueue, LiveReconcile, LiveRelease } from "./live.ts";
import { linkedRolesOf, tiersOf } from "./pipeline.ts";

export const liveFunctions: Check = {
  id: "live-functions",
  title: "The deployed functions are ready",
  severities: ["critical", "high"],
  needs: "live",
  find: ({ live }) => (live?.functions ?? []).flatMap(functionFindings),
};

function functionFindings({ name, state, lastUpdate, reason, reservedConcurrency }: LiveFunction): Finding[] {
  const because = reason === undefined ? "" : ` (${reason})`;
  return [
    ...(state === "Failed" ? [{ ...broken, subject: name, found: `Lambda cannot run it${because}.` }] : []),
    ...(lastUpdate === "Failed" ? [{ ...stale, subject: name, found: `Its latest update failed${because}.` }] : []),
    ...(reservedConcurrency === 0 ? [throttled(name)] : []),
  ];
}

const broken = { severity: "critical", fix: "Fix the reason that Lambda reports, and deploy again." } as const;

const stale = {
  severity: "high",
  fix: "Fix the reason that Lambda reports, and deploy again. Until then the previous code runs.",
} as const;

const throttled = (name: string): Finding => ({
  severity: "critical",
  subject: name,
  found: "Its reserved concurrency is set to 0: it never runs.",
  fix: `Remove it: \`aws lambda delete-function-concurrency --function-name ${name}\`.`,
});

/** States of event sources that take messages now or soon. */
const working = ["Enabled", "Enabling", "Creating", "Updating"];

export const liveCapacity: Check = {
  id: "live-capacity",
  title: "A worker takes messages from each deployed tier",
  severities: ["critical"],
  needs: "live",
  find: ({ live }) =>
    (live?.queues ?? [])
      .filter(({ isDlq, eventSources }) => !isDlq && !eventSources.some(({ state }) => working.includes(state)))
      .map((queue) => ({ severity: "critical", subject: `${queue.stack} tier ${queue.tier}`, ...idle(queue) })),
};

function idle({ eventSources: [first] }: LiveQueue): Pick<Finding, "found" | "fix"> {
  if (first === undefined)
    return { found: "No worker takes messages from it: it has no event source.", fix: "Deploy again." };
  return {
    found: `No worker takes messages from it: its event source is ${first.state}.`,
    fix: `Enable it: \`aws lambda update-event-source-mapping --uuid ${first.id} --enabled\`.`,
  };
}

/** Attributes of a deployed queue and the template's properties that they are compared with. */
const compared: readonly [attribute: string, property: string, read: (text: string) => string][] = [
  ["VisibilityTimeout", "VisibilityTimeout", String],
  ["MessageRetentionPeriod", "MessageRetentionPeriod", String],
  ["SqsManagedSseEnabled", "SqsManagedSseEnabled", String],
  ["RedrivePolicy", "RedrivePolicy.maxReceiveCount", receivesOf],
];

function receivesOf(policy: string): string {
  try {
    return String((JSON.parse(policy) as { maxReceiveCount?: unknown }).maxReceiveCount);
  } catch {
    return policy;
  }
}

export const liveQueues: Check = {
  id: "live-queues",
  title: "The deployed queues match their templates",
  severities: ["medium"],
  needs: "live",
  find: ({ deployment, live }) =>
    tiersOf(deployment).flatMap(({ tier, stack, queue, dlq }) =>
      (live?.queues ?? [])
        .filter((one) => one.stack === stack.name && one.tier === tier)
        .flatMap((one) => driftFindings(deployment, one.isDlq ? dlq : queue, one)),
    ),
};

function driftFindings(deployment: Deployment, queue: Resource | undefined, { attributes }: LiveQueue): Finding[] {
  if (queue === undefined) return [];
  const differing = compared.flatMap(([attribute, property, read]) => {
    const expected = deployment.text(queue, property);
    const given = attributes[attribute];
    const is = given === undefined ? "absent" : read(given);
    return expected === "" || expected === is ? [] : [`${property} is ${is}, not ${expected}`];
  });
  if (differing.length === 0) return [];
  return [
    about(queue, {
      severity: "medium",
      found: `It was changed manually, or this version is not deployed: ${differing.join("; ")}.`,
      fix: "Deploy, or add the change to the app. `cdk drift` shows all differences.",
    }),
  ];
}

/** A daily look that is late for more than a day is missing, in milliseconds. */
const lateMs = 2 * 86_400_000;

export const liveRescue: Check = {
  id: "live-rescue",
  title: "The daily look for tasks that nothing wakes is made",
  severities: ["high"],
  needs: "live",
  find: ({ live }) => (live?.reconciles ?? []).flatMap((rescue) => reconcileFindings(rescue, live?.readAt ?? "")),
};

function reconcileFindings({ stack, deployedAt, last, unread }: LiveReconcile, readAt: string): Finding[] {
  const since = last?.at ?? deployedAt;
  if (unread !== undefined || since === undefined) return [];
  if (Date.parse(readAt) - Date.parse(since) <= lateMs) return [];
  const found =
    last === undefined ? `It was never made since the deployment at ${since}.` : `It was made last at ${since}.`;
  return [{ severity: "high", subject: stack, found, fix: rescueFix }];
}

const rescueFix =
  `See whether the rule \`${purgeRule.name}\` of EventBridge Scheduler is enabled, and what the function fire logged at 00:20 UTC. ` +
  "Until then a task whose message was lost waits for ever.";

export const liveRoles: Check = {
  id: "live-roles",
  title: "The account has the roles that containers need",
  severities: ["high"],
  needs: "live",
  find: ({ deployment, live }) =>
    linkedRolesOf(deployment)
      .filter(({ name }) => live?.roles.some((role) => role.name === name && role.exists === false))
      .map(({ name, service }) => ({
        severity: "high",
        subject: "account",
        found: `It has no role ${name}: the first deployment with containers fails.`,
        fix: `Create it once, before you deploy: \`aws iam create-service-linked-role --aws-service-name ${service}\`.`,
      })),
};

export const liveRelease: Check = {
  id: "live-release",
  title: "The deployed release is this one, the one before it or the one after it",
  severities: ["high", "medium"],
  needs: "live",
  find: ({ live }) => (live?.releases ?? []).flatMap((one) => releaseFindings(one, String(releases.at(-1)))),
};

/** @param present This package's release. */
export function releaseFindings({ stack: subject, release }: LiveRelease, present: string): Finding[] {
  const skipped = skippedBetween(release, present);
  if (release === "unknown") return [];
  if (skipped === undefined) {
    const found = `Release ${release} is deployed, which ${present} does not know.`;
    return [{ severity: "medium", subject, found, fix: "Read *Before, during, back* in docs/upgrades.md." }];
  }
  if (skipped.length === 0) return [];
  const found = `Release ${release} is deployed, and this is ${present}: ${skipped.join(", ")} would be skipped.`;
  const fix = "Deploy each release in between, one after the other: each reads only what the one before it writes.";
  return [{ severity: "high", subject, found, fix }];
}

export const liveChecks: readonly Check[] = [
  liveCapacity,
  liveFunctions,
  liveQueues,
  liveRelease,
  liveRescue,
  liveRoles,
];
