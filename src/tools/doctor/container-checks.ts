import type { Deployment, Resource } from "./deployment.ts";
import { about, aboutEach, type Check, type Finding } from "./finding.ts";
import { containerQueuesOf } from "./pipeline.ts";
import { ruleCheck } from "./rules.ts";

/** Seconds that a container needs after its drain to give attempts back. */
const givingBackSeconds = 10;

/** Default of ECS, in seconds. */
const usualStopSeconds = 30;

const drainVariable = "OFFLOAD_WORK_DRAIN_SECONDS";

export const containerQueues: Check = {
  id: "container-queues",
  title: "Task types that need container workers have queues for them",
  severities: ["critical"],
  find: ({ deployment, types }) => {
    if (containerQueuesOf(deployment).length > 0) return [];
    return aboutEach(
      types.filter(({ runsOn }) => runsOn === "container"),
      () => ({
        severity: "critical",
        found:
          'It has runsOn: "container", and the functions\' settings name no queues for container workers: submits fail.',
        fix: "Set `containers: {}` on the TaskPipeline, or remove runsOn.",
      }),
    );
  },
};

export const containerStop: Check = {
  id: "container-stop",
  title: "ECS gives containers enough time to drain",
  severities: ["high"],
  find: ({ deployment }) =>
    deployment.ofType("AWS::ECS::TaskDefinition").flatMap((definition) =>
      definition.list("ContainerDefinitions").flatMap((_, index): Finding[] => {
        const drain = drainOf(deployment, definition, index);
        const stop = deployment.number(definition, `ContainerDefinitions.${index}.StopTimeout`, usualStopSeconds);
        if (drain === undefined || stop === undefined || stop >= drain + givingBackSeconds) return [];
        return [
          about(definition, {
            severity: "high",
            found: `Its drain takes up to ${drain} s, and ECS kills it after ${stop} s: attempts are lost as crashed instead of being given back.`,
            fix: `Set stopTimeout to at least ${drain + givingBackSeconds} s; the maximum of Fargate is 120 s.`,
          }),
        ];
      }),
    ),
};

/**
 * Drain time of a container worker in seconds. Undefined: another container, or a value that only a deployment knows.
 */
function drainOf(deployment: Deployment, definition: Resource, index: number): number | undefined {
  const variables = definition.list(`ContainerDefinitions.${index}.Environment`) as { Name?: unknown }[];
  const at = variables.findIndex(({ Name }) => Name === drainVariable);
  return at < 0 ? undefined : deployment.number(definition, `ContainerDefinitions.${index}.Environment.${at}.Value`);
}

export const containerCount = ruleCheck(
  "container-count",
  "No deployment changes the number of containers that scaling has chosen",
  {
    severity: "high",
    broken: (deployment) =>
      deployment.ofType("AWS::ECS::Service").filter((service) => service.get("DesiredCount") !== undefined),
    found:
      "It sets desiredCount: each deployment stops or starts containers against the scaling, also those with attempts.",
    fix: "Remove desiredCount. `minTasks` and `maxTasks` of `containers` bound the number.",
  },
);

export const containerChecks: readonly Check[] = [containerQueues, containerStop, containerCount];
