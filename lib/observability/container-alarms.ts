import { MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import { inFlightIn, sumOf, waitingIn } from "../container-scaling.ts";
import type { ContainerWorkers } from "../container-workers.ts";
import type { Thresholds } from "./alarm-options.ts";
import type { Alarms } from "./alarms.ts";
import { usualPeriod } from "./metrics.ts";

/**
 * Adds the alarms on container workers. The tiers' alarms on dead letters, failures and retries count their tasks, too.
 */
export function addContainerAlarms(
  alarms: Alarms,
  { queues, options }: ContainerWorkers,
  thresholds: Thresholds,
): void {
  const view = { period: usualPeriod };
  const [waiting, inFlight] = [waitingIn(queues, view), inFlightIn(queues, view)];
  alarms.whenAbove({
    section: "containers-stopped",
    metric: new MathExpression({
      expression: `IF(${sumOf(waiting)} > 0, IF(${sumOf(inFlight)} > 0, 0, 1), 0)`,
      usingMetrics: { ...waiting, ...inFlight },
      label: "messages wait, and no container takes any",
      ...view,
    }),
    threshold: 0,
    periods: 4,
    affectsUsers: true,
    means:
      "messages have waited for container workers for 20 minutes, and no container took any: none starts, or all fail.",
    first:
      "see in ECS the events of the service and the reason why its containers stopped, then the log of containers.",
  });
  const { containersBehind } = thresholds;
  alarms.whenAbove({
    section: "containers-behind",
    metric: new MathExpression({
      expression: sumOf(waiting),
      usingMetrics: waiting,
      label: "messages that wait for container workers",
      ...view,
    }),
    threshold: containersBehind,
    periods: 6,
    means: `more than ${containersBehind} messages have waited for container workers for half an hour: ${options.maxTasks} containers with ${options.concurrency} attempts each are too few.`,
    first: "see on the dashboard whether the containers are busy, and raise containers.maxTasks if they are.",
  });
}
