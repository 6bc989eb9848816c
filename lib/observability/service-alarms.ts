import { type IMetric, MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { tiers } from "../../src/core/tier.ts";
import type { Thresholds } from "./alarm-options.ts";
import type { Alarms } from "./alarms.ts";
import { usualPeriod } from "./metrics.ts";
import { addTierAlarms, percentOf } from "./tier-alarms.ts";
import type { Watched } from "./watched.ts";

/** Every alarm of a deployment, and last the one that sums up what users feel. */
export function addAlarms(alarms: Alarms, watched: Watched, thresholds: Thresholds): void {
  for (const tier of tiers) addTierAlarms(alarms, tier, watched, thresholds);
  addApiAlarm(alarms, watched, thresholds);
  addFunctionAlarms(alarms, watched, thresholds);
  addRedriveAlarms(alarms, watched, thresholds);
  addScheduleAlarms(alarms, watched, thresholds);
  addTableAlarms(alarms, watched);
  alarms.whenFelt({
    section: "pipeline-unhealthy",
    means: "users feel it: tasks wait too long or fail, requests fail, or schedules do not run.",
    first: "open the dashboard; the alarms that are on say which part, each with its own first step.",
  });
}

function addApiAlarm(alarms: Alarms, { api }: Watched, { serverErrorPercent, leastServerErrors }: Thresholds): void {
  const metrics = { errors: api.metricServerError(), requests: api.metricCount({ statistic: Stats.SUM }) };
  alarms.whenAbove({
    section: "api-errors",
    metric: percentOf("errors", metrics, leastServerErrors, ["requests"], usualPeriod),
    threshold: serverErrorPercent,
    felt: true,
    means: `more than ${serverErrorPercent} % of the requests were answered with a 5xx (and at least ${leastServerErrors}).`,
    first:
      'run the saved query "failed requests": with an integration_error a function died, without one a tier may be full.',
  });
}

function addFunctionAlarms(alarms: Alarms, { functions }: Watched, thresholds: Thresholds): void {
  for (const [name, { function: fn }] of Object.entries(functions)) {
    alarms.whenAbove({
      section: "throttled-functions",
      of: name,
      metric: fn.metricThrottles({ period: usualPeriod }),
      threshold: thresholds.throttles,
      means: `Lambda refused to run ${name}: the account has no invocations left.`,
      first: "see on the dashboard which function has taken them; other applications of the account count, too.",
    });
    alarms.whenAbove({
      section: "failing-functions",
      of: name,
      metric: fn.metricErrors({ period: usualPeriod }),
      threshold: thresholds.functionErrors,
      means: `invocations of ${name} died: it could not start, or ran out of time or memory.`,
      first: 'run the saved query "crashes"; if it began with a deployment, deploy the version before.',
    });
  }
}

/** Of messages that a tier gave up on, which redrive decides on. */
function addRedriveAlarms(alarms: Alarms, { data }: Watched, { comingBack }: Thresholds): void {
  alarms.whenAbove({
    section: "redrive-late",
    metric: data.redriveQueue.metricApproximateAgeOfOldestMessage({ period: usualPeriod, statistic: Stats.MAXIMUM }),
    threshold: comingBack.toSeconds(),
    felt: true,
    means: `messages that a tier gave up on have waited for redrive for more than ${comingBack.toHumanString()}.`,
    first: "see whether redrive fails or is throttled, and mend that; nothing is lost for two weeks.",
  });
  alarms.whenNotEmpty(data.redriveDlq, {
    section: "redrive-gave-up",
    means: "redrive could not decide on messages for hours; they are kept in its DLQ for two weeks.",
    first: 'run the saved query "crashes" for the cause, mend it, then move the messages back as the runbook says.',
  });
}

/** Of long waits and schedules: everything between EventBridge Scheduler and fire. */
function addScheduleAlarms(alarms: Alarms, { data, metrics }: Watched, { comingBack }: Thresholds): void {
  const { group, firings, dlq } = data.scheduling;
  const sum = { period: usualPeriod, statistic: Stats.SUM };
  alarms.whenAbove({
    section: "firings-late",
    metric: firings.metricApproximateAgeOfOldestMessage({ period: usualPeriod, statistic: Stats.MAXIMUM }),
    threshold: comingBack.toSeconds(),
    felt: true,
    means: `firings have failed for more than ${comingBack.toHumanString()}: schedules and long waits are late.`,
    first: "see whether fire fails or is throttled, and mend that; firings come back by themselves.",
  });
  alarms.whenNotEmpty(dlq, {
    section: "firings-gave-up",
    felt: true,
    means: "firings failed for hours and were given up: tasks of schedules or after long waits have not started.",
    first: 'run the saved query "crashes" for fire, mend the cause, then move the messages back as the runbook says.',
  });
  alarms.whenAbove({
    section: "firings-lost",
    metric: group.metricFailedToBeSentToDLQ(undefined, sum),
    threshold: 0,
    felt: true,
    means: "EventBridge Scheduler reached neither fire nor the queue for failed firings: these firings are gone.",
    first: "check the scheduler's role and the firings queue; then run missed schedules by hand.",
  });
  alarms.whenAbove({
    section: "scheduler-throttled",
    metric: total({ throttled: group.metricThrottled(sum), refused: group.metricTargetThrottled(sum) }),
    threshold: 0,
    periods: 3,
    means: "EventBridge Scheduler is throttled for 15 minutes: firings are late, none is lost.",
    first: "see whether many schedules fire in the same minute, and whether fire is throttled.",
  });
  alarms.whenAbove({
    section: "schedule-refused",
    metric: total(Object.fromEntries(tiers.map((tier) => [tier, metrics.of("schedule_refused", tier)]))),
    threshold: 0,
    felt: true,
    means: "a schedule's task could not be submitted: its type is gone, or its input does not fit any more.",
    first: 'run the saved query "refused schedules"; it names the schedule and why.',
  });
}

/** What the functions ask of the table. */
const tableOperations = ["GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"];

function addTableAlarms(alarms: Alarms, { data }: Watched): void {
  const ofOperations = (metricName: "ThrottledRequests" | "SystemErrors") =>
    total(
      Object.fromEntries(
        tableOperations.map((Operation) => [
          `${Operation.charAt(0).toLowerCase()}${Operation.slice(1)}`,
          data.table.metric(metricName, {
            dimensionsMap: { TableName: data.table.tableName, Operation },
            period: usualPeriod,
            statistic: Stats.SUM,
          }),
        ]),
      ),
    );
  alarms.whenAbove({
    section: "table-throttled",
    metric: ofOperations("ThrottledRequests"),
    threshold: 0,
    periods: 2,
    felt: true,
    means: "DynamoDB throttles the table: submits fail with 503, attempts and polls are slow.",
    first: "see on the dashboard whether load more than doubled; the table grows with it within minutes.",
  });
  alarms.whenAbove({
    section: "table-errors",
    metric: ofOperations("SystemErrors"),
    threshold: 0,
    periods: 2,
    felt: true,
    means: "DynamoDB answers with errors of its own.",
    first: "look at the AWS Health Dashboard; work goes on by itself when DynamoDB does.",
  });
}

/**
 * The sum of metrics that exist only when there is something to count. Zeros in their gaps let an alarm end: those on
 * DynamoDB's metrics stay as they are while data is missing, whatever they are told.
 */
function total(metrics: Readonly<Record<string, IMetric>>): MathExpression {
  const gapless = Object.keys(metrics).map((id) => `FILL(${id}, 0)`);
  return new MathExpression({
    expression: `SUM([${gapless.join(", ")}])`,
    usingMetrics: { ...metrics },
    period: usualPeriod,
    label: "in all",
  });
}
