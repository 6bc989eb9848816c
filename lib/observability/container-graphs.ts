import { Duration } from "aws-cdk-lib";
import { type IMetric, type IWidget, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import { tiers } from "../../src/core/model/words.ts";
import type { ContainerWorkers } from "../container-workers.ts";
import { graph } from "./graph.ts";

const aMinute = Duration.minutes(1);

/** Graphs of container workers and their queues. */
export function containerGraphs(containers: ContainerWorkers): IWidget[] {
  const { queues } = containers;
  const most = { period: aMinute, statistic: Stats.MAXIMUM };
  const ofTiers = (metric: (queue: IQueue, label: string) => IMetric) =>
    tiers.map((tier) => metric(queues.ofTiers[tier], tier));
  const used = (statistic: string, label: string) => [
    containers.metric("CPUUtilization", { period: aMinute, statistic, label: `CPU, ${label}` }),
    containers.metric("MemoryUtilization", { period: aMinute, statistic, label: `memory, ${label}` }),
  ];
  return [
    graph("Containers", [
      containers.metric("CPUUtilization", { period: aMinute, statistic: Stats.SAMPLE_COUNT, label: "run" }),
    ]),
    graph(
      "Messages that wait",
      ofTiers((queue, label) => queue.metricApproximateNumberOfMessagesVisible({ ...most, label })),
    ),
    graph(
      "Messages in flight",
      ofTiers((queue, label) => queue.metricApproximateNumberOfMessagesNotVisible({ ...most, label })),
    ),
    graph(
      "Oldest message, with its attempts",
      ofTiers((queue, label) => queue.metricApproximateAgeOfOldestMessage({ ...most, label })),
      { label: "s", showUnits: false },
    ),
    graph("CPU and memory", [...used(Stats.AVERAGE, "average"), ...used(Stats.MAXIMUM, "highest")], {
      label: "%",
      showUnits: false,
    }),
  ];
}
