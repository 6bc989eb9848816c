import { hoursPerMonth, type Prices } from "./figures.ts";
import type { Scenario } from "./scenario.ts";

/**
 * Minutes for which a container is charged beside its attempts: start, ten minutes without tasks, and the delay of
 * metrics.
 */
const aroundMinutes = 15;

const minutesPerDay = 1_440;

/** Metrics that the alarms on container workers, and those of their scaling, watch. */
const alarmMetrics = 27;

/**
 * Average number of containers: as many as attempts need, with all places in use; at least one while tasks run or have
 * just ended, for tasks that come at random times; and at least `minTasks`.
 */
export function averageContainers({ tasksPerDay, minutes, concurrency, minTasks }: Scenario["containers"]): number {
  const perMinute = tasksPerDay / minutesPerDay;
  const needed = (perMinute * minutes) / concurrency;
  const shareWithAny = 1 - Math.exp(-perMinute * (minutes + aroundMinutes));
  return Math.max(minTasks, needed, shareWithAny);
}

/** Cost of container workers in a month: nothing without tasks and `minTasks`. */
export function containerCost({ containers }: Scenario, price: Prices): number {
  const { cpu, memoryMiB } = containers;
  const perHour =
    (cpu / 1024) * price.fargateCpuHours + (memoryMiB / 1024) * price.fargateGbHours + price.publicAddressHours;
  return averageContainers(containers) * hoursPerMonth * perHour;
}

/** Number of metrics of alarms that a deployment with container workers has in addition. */
export const containerAlarms = ({ containers }: Scenario): number =>
  containers.tasksPerDay > 0 || containers.minTasks > 0 ? alarmMetrics : 0;
