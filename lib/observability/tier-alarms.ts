import { Duration } from "aws-cdk-lib";
import { type IMetric, MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { MetricName } from "../../src/core/metrics.ts";
import type { Tier } from "../../src/core/tier.ts";
import type { Thresholds } from "./alarm-options.ts";
import type { Alarms } from "./alarms.ts";
import type { PipelineMetrics } from "./metrics.ts";
import type { Watched } from "./watched.ts";

/** Shares are of so long: long enough for a share to mean something, short enough for a night. */
const sharePeriod = Duration.minutes(15);

const aMinute = Duration.minutes(1);

/** What may go wrong with one tier's queue and with its tasks. */
export function addTierAlarms(alarms: Alarms, tier: Tier, watched: Watched, thresholds: Thresholds): void {
  addQueueAlarms(alarms, tier, watched, thresholds);
  addTaskAlarms(alarms, tier, watched.metrics, thresholds);
}

function addQueueAlarms(alarms: Alarms, tier: Tier, { data }: Watched, { depth, oldestMessage }: Thresholds): void {
  const queue = data.queues[tier];
  alarms.whenNotEmpty(data.dlqs[tier], {
    section: "dead-letters",
    of: tier,
    means: `tasks of tier ${tier} have failed for good and wait in its DLQ for a decision.`,
    first: `see type, tenant and task on the dashboard, then: npx offload dlq list --tenant <tenant> --priority ${tier}`,
  });
  alarms.whenAbove({
    section: "depth",
    of: tier,
    metric: queue.metricApproximateNumberOfMessagesVisible({ period: aMinute, statistic: Stats.MAXIMUM }),
    threshold: depth[tier],
    periods: 5,
    means: `more than ${depth[tier]} messages have waited in tier ${tier} for five minutes: work comes faster than it is done.`,
    first: "see on the dashboard whether more is submitted, or less is completed.",
  });
  const oldest = oldestMessage[tier];
  alarms.whenAbove({
    section: "oldest-message",
    of: tier,
    metric: ageWhileWaiting(queue),
    threshold: oldest.toSeconds(),
    periods: 3,
    felt: true,
    means: `messages wait in tier ${tier}, and the oldest message is older than ${oldest.toHumanString()}: its tasks start late.`,
    first: "see on the dashboard whether the tier's workers run, and whether quiet tenants wait, too.",
  });
}

/**
 * The age of the oldest message while any message could be taken. SQS counts the age until a message is deleted: a task that
 * takes long, or is delayed for its next attempt, is no reason to wake anybody while nothing waits.
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
    label: "oldest message while any waits",
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
    means: `one of 100 attempts in tier ${tier} takes longer than ${processing[tier].toHumanString()}.`,
    first: 'see on the dashboard which type is slow, then run the saved query "slowest attempts".',
  });
  alarms.whenAbove({
    section: "errors",
    of: tier,
    metric: percentOf("failed", counts("failed", "completed"), leastFailures, ["failed", "completed"]),
    threshold: errorPercent,
    felt: true,
    means: `more than ${errorPercent} % of the tasks that ended in tier ${tier} failed for good (and at least ${leastFailures}).`,
    first: 'run the saved query "failures by type": one type means its code or its dependency, all types the platform.',
  });
  alarms.whenAbove({
    section: "retries",
    of: tier,
    metric: percentOf("retried", counts("retried", "started"), leastRetries, ["started"]),
    threshold: retryPercent,
    means: `more than ${retryPercent} % of the attempts in tier ${tier} had to be repeated (and at least ${leastRetries}).`,
    first:
      'run the saved query "retries by cause"; kind unavailable or rate_limited is a dependency, crashed the worker.',
  });
}

/**
 * What share of a whole a count is, in percent; nothing below the least count. Addends of the whole may be missing, as a
 * count that never happened has no metric: `SUM` leaves them out, where `+` would give nothing at all.
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
