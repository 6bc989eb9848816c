import { type IMetric, MathExpression, type MetricOptions, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { MetricName } from "../../src/core/model/metrics.ts";
import { metricTable } from "../../src/core/model/metrics.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { nearestNames } from "../../src/util/nearest.ts";
import type { DataStack } from "../data-stack.ts";
import { settingError } from "../setting-error.ts";
import { type PipelineMetrics, usualPeriod } from "./metrics.ts";

/** Options of a metric of tasks. */
export interface TaskMetricOptions extends MetricOptions {
  /**
   * Tier of the tasks.
   * @default - all tiers: the sum of counts, and the highest of times
   */
  readonly priority?: Tier;
}

/**
 * Metrics of a deployment for alarms and dashboards of the app. Each method of `TaskPipeline` with `metric` in its name
 * is one of these.
 */
export class TaskMetrics {
  private readonly data: DataStack;
  private readonly metrics: PipelineMetrics;

  constructor(data: DataStack, metrics: PipelineMetrics) {
    this.data = data;
    this.metrics = metrics;
  }

  /** One of Offload's own metrics. */
  metric(name: MetricName, { priority, ...options }: TaskMetricOptions = {}): IMetric {
    const of = (tier: Tier) => this.metrics.of(name, tier).with(options);
    checkIs("metric", name, Object.keys(metricTable));
    const isCount = metricTable[name].unit === "Count";
    return this.overTiers(of, isCount ? "SUM" : "MAX", name, {
      ...options,
      ...(priority !== undefined && { priority }),
    });
  }

  /** Messages in the dead-letter queues. */
  deadLetters({ priority, ...options }: TaskMetricOptions = {}): IMetric {
    const of = (tier: Tier) => depthOf(this.data.dlqs[tier], options);
    return this.overTiers(of, "SUM", "dead letters", { ...options, ...(priority !== undefined && { priority }) });
  }

  /** Messages that wait for a worker, those for container workers too. */
  backlog({ priority, ...options }: TaskMetricOptions = {}): IMetric {
    const { queues, containerQueues } = this.data;
    const ofTier = (tier: Tier): IQueue[] => [
      queues[tier],
      ...(containerQueues ? [containerQueues.ofTiers[tier]] : []),
    ];
    const of = (tier: Tier) =>
      combined(
        ofTier(tier).map((queue) => depthOf(queue, options)),
        "SUM",
        tier,
        options,
      );
    return this.overTiers(of, "SUM", "backlog", { ...options, ...(priority !== undefined && { priority }) });
  }

  /** Age of the oldest message in seconds, of tasks that run too. */
  oldestMessage({ priority, ...options }: TaskMetricOptions = {}): IMetric {
    const of = (tier: Tier) =>
      this.data.queues[tier].metricApproximateAgeOfOldestMessage({
        statistic: Stats.MAXIMUM,
        period: usualPeriod,
        ...options,
      });
    return this.overTiers(of, "MAX", "oldest message", { ...options, ...(priority !== undefined && { priority }) });
  }

  private overTiers(
    of: (tier: Tier) => IMetric,
    sum: "SUM" | "MAX",
    label: string,
    { priority, ...options }: TaskMetricOptions,
  ): IMetric {
    if (priority === undefined) return combined(tiers.map(of), sum, label, options);
    checkIs("priority", priority, tiers);
    return of(priority);
  }
}

/** An app in JavaScript would watch a metric that nobody emits. @throws TypeError */
function checkIs(what: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const [near] = nearestNames(name, known);
  const meant = near === undefined ? `expected one of ${known.join(", ")}` : `did you mean ${near}?`;
  throw settingError(`${JSON.stringify(name)} is not a ${what}; ${meant}`);
}

const depthOf = (queue: IQueue, options: MetricOptions): IMetric =>
  queue.metricApproximateNumberOfMessagesVisible({ statistic: Stats.MAXIMUM, period: usualPeriod, ...options });

/** `SUM` and `MAX` of a list ignore metrics without data. */
function combined(metrics: readonly IMetric[], sum: "SUM" | "MAX", label: string, options: MetricOptions): IMetric {
  const [only, ...others] = metrics;
  if (only !== undefined && others.length === 0) return only;
  const named = Object.fromEntries(metrics.map((metric, index) => [`m${index}`, metric]));
  return new MathExpression({
    expression: `${sum}([${Object.keys(named).join(", ")}])`,
    usingMetrics: named,
    label: options.label ?? label,
    period: options.period ?? usualPeriod,
  });
}
