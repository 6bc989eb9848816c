import { type SettingName, toEnv } from "../config.ts";
import { type Tier, tiers } from "../core/tier.ts";
import { type Deployment, type Resource, type Stack, stageOf } from "./deployment.ts";

/** The variable of a setting, which is how a template shows what is what. */
const variableOf = (name: SettingName): string => Object.keys(toEnv({ [name]: "" }))[0] ?? "";

const queueUrls = variableOf("queueUrls");
const dlqUrls = variableOf("dlqUrls");

/** A queue that feeds a function. */
export interface Feed {
  mapping: Resource;
  /** Undefined: it is in none of the stacks. */
  queue: Resource | undefined;
  function: Resource | undefined;
  enabled: boolean;
}

/** The parts of one tier. */
export interface TierParts {
  tier: Tier;
  /** A stack whose functions know the tier. */
  stack: Stack;
  queue: Resource | undefined;
  dlq: Resource | undefined;
}

/** What feeds functions, streams of tables not counted. */
export function feedsOf(deployment: Deployment): Feed[] {
  return deployment.ofType("AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const queue = deployment.target(mapping, "EventSourceArn");
    if (queue !== undefined && queue.type !== "AWS::SQS::Queue") return [];
    const enabled = deployment.text(mapping, "Enabled") !== "false";
    return [{ mapping, queue, function: deployment.target(mapping, "FunctionName"), enabled }];
  });
}

/** The tiers of each pipeline of the app, as its functions' settings name them. */
export function tiersOf(deployment: Deployment): TierParts[] {
  const settings = new Map<string, Resource>();
  for (const one of deployment.ofType("AWS::Lambda::Function")) {
    const text = deployment.text(one, `Environment.Variables.${queueUrls}`);
    if (text !== "") settings.set(text, settings.get(text) ?? one);
  }
  return [...settings].flatMap(([text, one]) => {
    const queues = perTier(deployment, text);
    const dlqs = perTier(deployment, deployment.text(one, `Environment.Variables.${dlqUrls}`));
    return tiers.map((tier) => ({ tier, stack: one.stack, queue: queues[tier], dlq: dlqs[tier] }));
  });
}

function perTier(deployment: Deployment, text: string): Partial<Record<Tier, Resource | undefined>> {
  try {
    const urls = JSON.parse(text) as Record<string, unknown>;
    return Object.fromEntries(tiers.map((tier) => [tier, deployment.marked(String(urls[tier]))]));
  } catch {
    return {};
  }
}

/** The functions that do a tier's tasks. */
export function workersOf(deployment: Deployment): Resource[] {
  const queues = new Set(tiersOf(deployment).map(({ queue }) => queue));
  const workers = feedsOf(deployment).flatMap((feed) =>
    feed.function !== undefined && queues.has(feed.queue) && feed.queue !== undefined ? [feed.function] : [],
  );
  return [...new Set(workers)];
}

/** Queues whose messages nobody takes but people: the tiers' DLQs, and where other queues, functions and schedules give up. */
export function finalQueuesOf(deployment: Deployment): Resource[] {
  const consumed = new Set(feedsOf(deployment).map(({ queue }) => queue));
  const given = [
    ...tiersOf(deployment).map(({ dlq }) => dlq),
    ...deployment.ofType("AWS::SQS::Queue").map((queue) => redriveTargetOf(deployment, queue)),
    ...deployment.ofType("AWS::Lambda::Function").map((one) => deployment.target(one, "DeadLetterConfig.TargetArn")),
    ...deployment
      .ofType("AWS::Scheduler::Schedule")
      .map((one) => deployment.target(one, "Target.DeadLetterConfig.Arn")),
  ];
  const queues = given.filter((queue) => queue?.type === "AWS::SQS::Queue" && !consumed.has(queue));
  return [...new Set(queues)] as Resource[];
}

/** Where a queue's messages go after too many receives. */
export const redriveTargetOf = (deployment: Deployment, queue: Resource): Resource | undefined =>
  deployment.target(queue, "RedrivePolicy.deadLetterTargetArn");

/** Whether a stack's stage keeps its data: every one but `dev` does. */
export const isKept = (stack: Stack): boolean => stageOf(stack) !== "dev";

const probes = variableOf("probes");
const fireArn = variableOf("fireArn");

/** Whether workers know the probe types. */
export const withProbes = (deployment: Deployment): boolean =>
  workersOf(deployment).some((worker) => deployment.text(worker, `Environment.Variables.${probes}`) === "1");

/** Each pipeline's service stack, with the name of its fire function, which is fixed. */
export function pipelineNamesOf(deployment: Deployment): { stack: string; fireName: string }[] {
  return [...new Set(tiersOf(deployment).map(({ stack }) => stack))].flatMap((stack) => {
    const named = deployment
      .ofType("AWS::Lambda::Function")
      .filter((one) => one.stack === stack && typeof one.get("FunctionName") === "string");
    const fire = named.find((one) =>
      deployment
        .ofType("AWS::Lambda::Function")
        .some((other) => deployment.target(other, `Environment.Variables.${fireArn}`) === one),
    );
    return fire === undefined ? [] : [{ stack: stack.name, fireName: String(fire.get("FunctionName")) }];
  });
}
