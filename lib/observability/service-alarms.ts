import { type IMetric, MathExpression, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { tiers } from "../../src/core/model/words.ts";
import type { Thresholds } from "./alarm-options.ts";
import type { Alarms } from "./alarms.ts";
import { addContainerAlarms } from "./container-alarms.ts";
import { addLineAlarms } from "./line-alarms.ts";
import { usualPeriod } from "./metrics.ts";
import { addTierAlarms } from "./tier-alarms.ts";
import type { Watched } from "./watched.ts";

/** Adds all alarms of a deployment, and last the composite alarm for problems that affect users. */
export function addAlarms(alarms: Alarms, watched: Watched, thresholds: Thresholds): void {
  for (const tier of tiers) addTierAlarms(alarms, tier, watched, thresholds);
  addApiAlarm(alarms, watched, thresholds);
  addFunctionAlarms(alarms, watched, thresholds);
  addRedriveAlarms(alarms, watched, thresholds);
  addScheduleAlarms(alarms, watched, thresholds);
  addNewFailureAlarm(alarms, watched);
  addMissedAlarm(alarms, watched);
  addLineAlarms(alarms, watched, thresholds);
  addNoticeAlarms(alarms, watched, thresholds);
  if (watched.containers !== undefined) addContainerAlarms(alarms, watched.containers, thresholds);
  addTableAlarms(alarms, watched);
  alarms.whenUsersAffected({
    section: "pipeline-unhealthy",
    means: "users are affected: tasks wait too long or fail, requests fail, or schedules do not run.",
    first: "open the dashboard. The active alarms name the affected part, each with its own first step.",
  });
}

function addApiAlarm(
  alarms: Alarms,
  { api, metrics }: Watched,
  { serverErrorPercent, leastServerErrors }: Thresholds,
): void {
  // A batch of which no task was accepted is answered with 202.
  const errors = "SUM([FILL(answers, 0), FILL(batches, 0)])";
  alarms.whenAbove({
    section: "api-errors",
    metric: new MathExpression({
      expression: `IF(${errors} >= ${leastServerErrors}, 100 * ${errors} / requests, 0)`,
      usingMetrics: {
        answers: api.metricServerError(),
        batches: metrics.of("batch_refused", "normal"),
        requests: api.metricCount({ statistic: Stats.SUM }),
      },
      period: usualPeriod,
      label: "errors, in percent",
    }),
    threshold: serverErrorPercent,
    affectsUsers: true,
    means: `more than ${serverErrorPercent} % of the requests (and at least ${leastServerErrors}) got a 5xx response, or were batches of which no task was accepted.`,
    first:
      'run the saved query "failed requests". With an integration_error a function died; without one a tier may be full.',
  });
}

function addFunctionAlarms(alarms: Alarms, { functions }: Watched, thresholds: Thresholds): void {
  for (const [name, { function: fn }] of Object.entries(functions)) {
    alarms.whenAbove({
      section: "throttled-functions",
      of: name,
      metric: fn.metricThrottles({ period: usualPeriod }),
      threshold: thresholds.throttles,
      means: `Lambda throttled ${name}: the account's concurrency is used up.`,
      first: "see on the dashboard which function uses it. Other applications in the account use it, too.",
    });
    alarms.whenAbove({
      section: "failing-functions",
      of: name,
      metric: fn.metricErrors({ period: usualPeriod }),
      threshold: thresholds.functionErrors,
      means: `invocations of ${name} failed: it could not start, timed out or ran out of memory.`,
      first: 'run the saved query "crashes". If it began with a deployment, deploy the previous version.',
    });
  }
}

/** Alarms on messages that a tier gave up on and redrive handles. */
function addRedriveAlarms(alarms: Alarms, { data }: Watched, { comingBack }: Thresholds): void {
  alarms.whenAbove({
    section: "redrive-late",
    metric: data.redriveQueue.metricApproximateAgeOfOldestMessage({ period: usualPeriod, statistic: Stats.MAXIMUM }),
    threshold: comingBack.toSeconds(),
    affectsUsers: true,
    means: `messages that a tier gave up on wait for redrive for more than ${comingBack.toHumanString()}.`,
    first: "check whether redrive fails or is throttled, and fix that. Messages are kept for two weeks.",
  });
  alarms.whenNotEmpty(data.redriveDlq, {
    section: "redrive-gave-up",
    means: "redrive failed on messages for hours. They are kept in its DLQ for two weeks.",
    first:
      'run the saved query "crashes" to find the cause, fix it, then move the messages back as described in the runbook.',
  });
}

/** Alarms on schedules and long waits: EventBridge Scheduler and the fire function. */
function addScheduleAlarms(alarms: Alarms, { data, metrics }: Watched, { comingBack }: Thresholds): void {
  const { group, firings, dlq } = data.scheduling;
  const sum = { period: usualPeriod, statistic: Stats.SUM };
  alarms.whenAbove({
    section: "firings-late",
    metric: firings.metricApproximateAgeOfOldestMessage({ period: usualPeriod, statistic: Stats.MAXIMUM }),
    threshold: comingBack.toSeconds(),
    affectsUsers: true,
    means: `firings have failed for more than ${comingBack.toHumanString()}: schedules and long waits are late.`,
    first: "check whether fire fails or is throttled, and fix that. Firings are retried automatically.",
  });
  alarms.whenNotEmpty(dlq, {
    section: "firings-gave-up",
    affectsUsers: true,
    means: "firings failed for hours and are in the DLQ: tasks of schedules or after long waits did not start.",
    first:
      'run the saved query "crashes" for fire, fix the cause, then move the messages back as described in the runbook.',
  });
  alarms.whenAbove({
    section: "firings-lost",
    metric: group.metricFailedToBeSentToDLQ(undefined, sum),
    threshold: 0,
    affectsUsers: true,
    means: "EventBridge Scheduler could reach neither fire nor the queue for failed firings: these firings are lost.",
    first: "check the scheduler's role and the firings queue. Then run the missed schedules manually.",
  });
  alarms.whenAbove({
    section: "scheduler-throttled",
    metric: total({ throttled: group.metricThrottled(sum), refused: group.metricTargetThrottled(sum) }),
    threshold: 0,
    periods: 3,
    means: "EventBridge Scheduler has been throttled for 15 minutes: firings are late, but not lost.",
    first: "check whether many schedules fire in the same minute, and whether fire is throttled.",
  });
  alarms.whenAbove({
    section: "schedule-refused",
    metric: total(Object.fromEntries(tiers.map((tier) => [tier, metrics.of("schedule_refused", tier)]))),
    threshold: 0,
    affectsUsers: true,
    means:
      "a task of a schedule or trigger could not be submitted: its type was removed, its input is not valid, or its firing could not be read.",
    first: 'run the saved query "refused schedules". It names the schedule or trigger, and the reason.',
  });
}

/** Adds the alarm on failures that are new, which an alarm on dead letters that are kept does not tell. */
function addNewFailureAlarm(alarms: Alarms, { metrics }: Watched): void {
  alarms.whenAbove({
    section: "new-failure",
    metric: metrics.of("new_failure", "normal"),
    threshold: 0,
    means: "a task failed for good with a class of error that its type did not have in the last day.",
    first:
      "run the saved query \"new failures\": it names type, error, tenant and task. How many: npx offload dlq groups --tenant '*'.",
  });
}

/** Adds the alarms on scheduled times without a task: one for all schedules, and one for each that asks for it. */
function addMissedAlarm(alarms: Alarms, { metrics, watchedSchedules }: Watched): void {
  for (const schedule of watchedSchedules) {
    alarms.whenAbove({
      section: "schedule-missed",
      of: schedule,
      metric: metrics.ofSchedule("watched_schedule_missed", schedule),
      threshold: 0,
      means: `the schedule ${schedule} submitted nothing at one of its times, and nobody had paused it.`,
      first: 'run the saved query "skipped times", and "refused schedules": they say for which tenant, and why.',
    });
  }
  alarms.whenAbove({
    section: "schedule-missed",
    metric: metrics.of("schedule_missed", "normal"),
    threshold: 0,
    means:
      "a schedule submitted nothing: it was too late, over its tenant's limit, or its last task has not ended for three times in a row.",
    first: 'run the saved query "skipped times". It names each schedule, how often, and the last reason.',
  });
}

/** Alarms on notices: webhooks, channels and events. */
function addNoticeAlarms(alarms: Alarms, { data, metrics }: Watched, { comingBack, failedWebhooks }: Thresholds): void {
  alarms.whenAbove({
    section: "notices-late",
    metric: data.notifyQueue.metricApproximateAgeOfOldestMessage({ period: usualPeriod, statistic: Stats.MAXIMUM }),
    threshold: comingBack.toSeconds(),
    affectsUsers: true,
    means: `notices have waited for more than ${comingBack.toHumanString()}: webhooks, channels and events are late.`,
    first: "check whether notify fails or is throttled, and fix that. Notices are retried automatically.",
  });
  alarms.whenNotEmpty(data.notifyDlq, {
    section: "notices-gave-up",
    affectsUsers: true,
    means:
      "notices failed for an hour and are in the DLQ: a webhook, a channel or the event bus did not get a task's end.",
    first:
      'run the saved query "crashes" for notify, fix the cause, then move the messages back as described in the runbook.',
  });
  alarms.whenAbove({
    section: "webhooks-failed",
    metric: metrics.of("webhook_failed", "normal"),
    threshold: failedWebhooks,
    means: "webhooks were given up: their receivers refused them, or all eight tries over nine hours failed.",
    first: 'run the saved query "failed webhooks". It names each receiver, its last answer and the tenant to tell.',
  });
  alarms.whenAbove({
    section: "receivers-failing",
    metric: metrics.of("receiver_failing", "normal"),
    threshold: 0,
    means:
      "a tenant's receiver of webhooks has failed for four days and will be disabled a day later, or has been disabled.",
    first: 'run the saved query "failed webhooks", and tell the tenant. It names the receiver and its last answer.',
  });
}

/** DynamoDB operations of the functions. */
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
    affectsUsers: true,
    means: "DynamoDB throttles the table: submits fail with 503; attempts and polls are slow.",
    first: "see on the dashboard whether the load more than doubled. The table adapts within minutes.",
  });
  alarms.whenAbove({
    section: "table-errors",
    metric: ofOperations("SystemErrors"),
    threshold: 0,
    periods: 2,
    affectsUsers: true,
    means: "DynamoDB answers with internal errors.",
    first: "check the AWS Health Dashboard. Tasks continue automatically when DynamoDB recovers.",
  });
}

/**
 * Sum of metrics that have data only when there is something to count. `FILL` adds the missing zeros, so that the alarm
 * ends: alarms on DynamoDB's metrics keep their state while data is missing, and ignore `treatMissingData`.
 */
function total(metrics: Readonly<Record<string, IMetric>>): MathExpression {
  const gapless = Object.keys(metrics).map((id) => `FILL(${id}, 0)`);
  return new MathExpression({
    expression: `SUM([${gapless.join(", ")}])`,
    usingMetrics: { ...metrics },
    period: usualPeriod,
    label: "total",
  });
}
