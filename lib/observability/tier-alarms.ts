import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { MetricName } from "../../src/core/model/metrics.ts";
import type { Tier } from "../../src/core/model/words.ts";
import type { Thresholds } from "./alarm-options.ts";
import type { Alarms } from "./alarms.ts";
import type { PipelineMetrics } from "./metrics.ts";
import type { Watched } from "./watched.ts";

/** Period of percentages: long enough for enough tasks, short enough to notice problems soon. */
const sharePeriod = Duration.minutes(15);

const aMinute = Duration.minutes(1);

/** Adds the alarms on one tier's queue and tasks. */
export function addTierAlarms(alarms: Alarms, tier: Tier, watched: Watched, thresholds: Thresholds): void {
  addQueueAlarms(alarms, tier, watched, thresholds);
  addTaskAlarms(alarms, tier, watched.metrics, thresholds);
}

function addQueueAlarms(alarms: Alarms, tier: Tier, { data }: Watched, { depth, oldestMessage }: Thresholds): void {
  const queue = data.queues[tier];
  alarms.whenNotEmpty(data.dlqs[tier], {
    section: "dead-letters",
    of: tier,
    means: `tasks of tier ${tier} failed permanently. They wait in its DLQ to be replayed or discarded.`,
    first:
      `find type, tenant and task on the dashboard, then run: npx offload dlq list --tenant <tenant> --priority ${tier}; ` +
      "for its input and every error: npx offload dlq show <task> --tenant <tenant>",
  });
  alarms.whenAbove({
    section: "depth",
    of: tier,
    metric: queue.metricApproximateNumberOfMessagesVisible({ period: aMinute, statistic: Stats.MAXIMUM }),
    threshold: depth[tier],
    periods: 5,
    means: `more than ${depth[tier]} messages have waited in tier ${tier} for five minutes: tasks arrive faster than they complete.`,
    first: "see on the dashboard whether more tasks are submitted, or fewer complete.",
  });
  const oldest = oldestMessage[tier];
  alarms.whenAbove({
    section: "oldest-message",
    of: tier,
    metric: ageWhileWaiting(queue),
    threshold: oldest.toSeconds(),
    periods: 3,
    affectsUsers: true,
    means: `messages wait in tier ${tier}, and the oldest one is older than ${oldest.toHumanString()}: its tasks start late.`,
    first:
      "see on the dashboard whether the tier's workers run, and whether quiet tenants wait, too (graph Oldest message).",
  });
}

/**
 * Age of the oldest message while any message waits. SQS counts the age until a message is deleted, so a long task, or
 * a task that is delayed for its next attempt, would raise the alarm although nothing waits.
 */
function ageWhileWaiting(queue: IQueue): MathExpression {
  const most = { period: aMinute, statistic: Stats.MAXIMUM };
  return new MathExpression({
    expression: "IF(waiting > 0, age, 0)",
    usingMetrics: {
      waiting: queue.metricApproximateNumberOfMessagesVisible(most),
      age: queue.metricApproximateAgeOfOldestMessage(most),
    },
    period: aMinute,
    label: "oldest message while messages wait",
  });
}

function addTaskAlarms(alarms: Alarms, tier: Tier, metrics: PipelineMetrics, thresholds: Thresholds): void {
  const { processing, errorPercent, leastFailures, retryPercent, leastRetries } = thresholds;
  const counts = (...names: MetricName[]) => Object.fromEntries(names.map((name) => [name, metrics.of(name, tier)]));
  alarms.whenAbove({
    section: "slow-processing",
    of: tier,
    metric: metrics.of("processing_ms", tier, { statistic: Stats.percentile(99) }),
    threshold: processing[tier].toMilliseconds(),
    periods: 3,
    means: `1 % of the attempts in tier ${tier} take longer than ${processing[tier].toHumanString()}.`,
    first: 'see on the dashboard which type is slow, then run the saved query "slowest attempts".',
  });
  alarms.whenAbove({
    section: "errors",
    of: tier,
    metric: percentOf("failed", counts("failed", "completed"), leastFailures, ["failed", "completed"]),
    threshold: errorPercent,
    affectsUsers: true,
    means: `more than ${errorPercent} % of the tasks that ended in tier ${tier} (and at least ${leastFailures}) failed permanently.`,
    first: 'run the saved query "failures by type". One type: its code or its dependency. All types: the platform.',
  });
  alarms.whenAbove({
    section: "retries",
    of: tier,
    metric: percentOf("retried", counts("retried", "started"), leastRetries, ["started"]),
    threshold: retryPercent,
    means: `more than ${retryPercent} % of the attempts in tier ${tier} (and at least ${leastRetries}) were retried.`,
    first:
      'run the saved query "retries by cause". Kind unavailable or rate_limited: a dependency. Kind crashed: the worker.',
  });
}

/**
 * Percentage of a whole, or 0 below `leastCount`. Addends of the whole may have no data, as CloudWatch has no metric
 * before the first event. `SUM` ignores them, where `+` would have no result.
 */
export function percentOf(
  count: string,
  metrics: Readonly<Record<string, IMetric>>,
  leastCount: number,
  whole: readonly string[],
  period = sharePeriod,
): MathExpression {
  return new MathExpression({
    expression: `IF(${count} >= ${leastCount}, 100 * ${count} / SUM([${whole.join(", ")}]), 0)`,
    usingMetrics: { ...metrics },
    period,
    label: `${count}, in percent`,
  });
}
