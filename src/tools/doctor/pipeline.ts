import { type Tier, tiers } from "../../core/model/words.ts";
import { type SettingName, toEnv } from "../../settings/config.ts";
import { disposableKey } from "./accepted.ts";
import { type Deployment, memberOf, type Resource, type Stack, stageOf } from "./deployment.ts";

/** Name of a setting's environment variable, by which templates identify queues and functions. */
const variableOf = (name: SettingName): string => Object.keys(toEnv({ [name]: "" }))[0] ?? "";

const queueUrls = variableOf("queueUrls");
const containerQueueUrls = variableOf("containerQueueUrls");
const dlqUrls = variableOf("dlqUrls");
const bucketName = variableOf("bucket");
const notifyUrl = variableOf("notifyUrl");

/** An event source: a queue and the function that consumes it. */
export interface Feed {
  mapping: Resource;
  /** Undefined: no stack contains it. */
  queue: Resource | undefined;
  function: Resource | undefined;
  enabled: boolean;
}

/** The parts of one tier. */
export interface TierParts {
  tier: Tier;
  /** The stack whose functions' settings name the tier. */
  stack: Stack;
  queue: Resource | undefined;
  dlq: Resource | undefined;
}

/** Returns the event sources of all functions, without table streams. */
export function feedsOf(deployment: Deployment): Feed[] {
  return deployment.ofType("AWS::Lambda::EventSourceMapping").flatMap((mapping) => {
    const queue = deployment.target(mapping, "EventSourceArn");
    if (queue !== undefined && queue.type !== "AWS::SQS::Queue") return [];
    const enabled = deployment.text(mapping, "Enabled") !== "false";
    return [{ mapping, queue, function: deployment.target(mapping, "FunctionName"), enabled }];
  });
}

/** Returns the tiers of each pipeline of the app, as named in its functions' settings. */
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
    return Object.fromEntries(tiers.map((tier) => [tier, deployment.resourceAt(String(urls[tier]))]));
  } catch {
    return {};
  }
}

/** Returns the buckets of the pipelines, as their functions' settings name them. */
export function bucketsOf(deployment: Deployment): Resource[] {
  const named = deployment
    .ofType("AWS::Lambda::Function")
    .map((one) => deployment.target(one, `Environment.Variables.${bucketName}`));
  return [...new Set(named)].filter((bucket) => bucket !== undefined);
}

/** Returns the worker functions: those that consume a tier's queue. */
export function workersOf(deployment: Deployment): Resource[] {
  const queues = new Set(tiersOf(deployment).map(({ queue }) => queue));
  const workers = feedsOf(deployment).flatMap((feed) =>
    feed.function !== undefined && queues.has(feed.queue) && feed.queue !== undefined ? [feed.function] : [],
  );
  return [...new Set(workers)];
}

/** Returns the queues of container workers, as functions' settings name them. */
export function containerQueuesOf(deployment: Deployment): Resource[] {
  const named = deployment
    .ofType("AWS::Lambda::Function")
    .map((one) => deployment.text(one, `Environment.Variables.${containerQueueUrls}`))
    .flatMap((text) => Object.values(perTier(deployment, text)));
  return [...new Set(named)].filter((queue) => queue !== undefined);
}

/** Returns the queues of notices, as functions' settings name them, each with its enabled event source. */
export function noticeFeedsOf(deployment: Deployment): { queue: Resource; feed: Feed | undefined }[] {
  const named = deployment
    .ofType("AWS::Lambda::Function")
    .map((one) => deployment.target(one, `Environment.Variables.${notifyUrl}`));
  const feeds = feedsOf(deployment).filter(({ enabled }) => enabled);
  return [...new Set(named)].flatMap((queue) =>
    queue === undefined ? [] : [{ queue, feed: feeds.find((feed) => feed.queue === queue) }],
  );
}

/** Returns the queues without a consumer: the tiers' DLQs, and those of other queues, functions and schedules. */
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

/** The queue that gets a queue's messages after too many receives. */
export const redriveTargetOf = (deployment: Deployment, queue: Resource): Resource | undefined =>
  deployment.target(queue, "RedrivePolicy.deadLetterTargetArn");

/** True when a stack keeps its data: in every stage except `dev`, unless its template says otherwise. */
export const isKept = (stack: Stack): boolean =>
  stageOf(stack) !== "dev" && memberOf(stack.template.Metadata, disposableKey) !== true;

const probes = variableOf("probes");
const fireArn = variableOf("fireArn");

/** True when the workers have the probe types. */
export const withProbes = (deployment: Deployment): boolean =>
  workersOf(deployment).some((worker) => deployment.text(worker, `Environment.Variables.${probes}`) === "1");

/** Returns the service stack of each pipeline, and the fixed name of its fire function. */
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

/** A role that an AWS service needs in the account, and that AWS creates too late for the deployment that needs it. */
export interface LinkedRole {
  name: string;
  /** The service's name in the command that creates the role. */
  service: string;
}

/** Returns the roles that containers need. */
export const linkedRolesOf = (deployment: Deployment): LinkedRole[] => [
  ...(deployment.ofType("AWS::ECS::Service").length > 0 ? [roleOfEcs] : []),
  ...(deployment.ofType("AWS::ApplicationAutoScaling::ScalableTarget").some(isContainers) ? [roleOfScaling] : []),
];

const roleOfEcs: LinkedRole = { name: "AWSServiceRoleForECS", service: "ecs.amazonaws.com" };

const roleOfScaling: LinkedRole = {
  name: "AWSServiceRoleForApplicationAutoScaling_ECSService",
  service: "ecs.application-autoscaling.amazonaws.com",
};

const isContainers = (target: Resource): boolean => target.get("ServiceNamespace") === "ecs";
