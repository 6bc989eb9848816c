import { Duration, Stack, Token } from "aws-cdk-lib";
import {
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IAlarm,
  type IMetric,
  type IWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  PeriodOverride,
  Row,
  SingleValueWidget,
  Stats,
  TextWidget,
  type YAxisProps,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import type { MetricName } from "../../src/core/model/metrics.ts";
import { type Tier, tiers } from "../../src/core/model/words.ts";
import { title } from "../per-tier.ts";
import { containerGraphs } from "./container-graphs.ts";
import { costNote, costParts, costTotal } from "./cost.ts";
import { columns, graph } from "./graph.ts";
import type { PipelineMetrics } from "./metrics.ts";
import { logGroupsOf, type QueryName, queries } from "./queries.ts";
import { shortened } from "./short-body.ts";
import type { Watched } from "./watched.ts";

const aMinute = Duration.minutes(1);

export interface PipelineDashboardProps {
  readonly watched: Watched;
  /** The alarms to show. */
  readonly alarms: readonly IAlarm[];
  /** URL of the runbook. */
  readonly runbookUrl: string;
  readonly dashboardName: string;
}

/** The dashboard, named after the deployment. It shows whether tasks complete, where they wait and what fails. */
export class PipelineDashboard extends Construct {
  readonly dashboard: Dashboard;
  /** URL in the AWS console. */
  readonly url: string;

  constructor(scope: Construct, id: string, { watched, alarms, runbookUrl, dashboardName }: PipelineDashboardProps) {
    super(scope, id);
    const dashboard = new Dashboard(this, "Dashboard", {
      dashboardName,
      defaultInterval: Duration.hours(3),
      periodOverride: PeriodOverride.INHERIT,
    });
    this.dashboard = dashboard;
    const { region } = Stack.of(this);
    const query = `cloudwatch/home?region=${region}#dashboards/dashboard/${dashboardName}`;
    this.url = `https://${consoleHost(region)}/${query}`;
    const add = (...widgets: IWidget[]) => dashboard.addWidgets(...widgets.map(shortened));
    add(introduction(watched, runbookUrl));
    if (alarms.length > 0) {
      add(new AlarmStatusWidget({ title: "Alarms", alarms: [...alarms], width: columns, height: 5 }));
    }
    for (const tier of tiers) {
      add(new TextWidget({ markdown: `## Tier ${tier}`, width: columns, height: 1 }));
      add(...tierGraphs(tier, watched));
    }
    add(new TextWidget({ markdown: "## Task types", width: columns, height: 1 }));
    add(...typeWidgets(watched));
    add(new TextWidget({ markdown: familyText, width: columns, height: 2 }));
    add(...familyGraphs(watched));
    add(new TextWidget({ markdown: noticeText, width: columns, height: 2 }));
    add(...noticeGraphs(watched));
    if (watched.containers !== undefined) {
      add(new TextWidget({ markdown: "## Container workers", width: columns, height: 1 }));
      add(...containerGraphs(watched.containers));
    }
    add(new TextWidget({ markdown: "## Platform", width: columns, height: 1 }));
    add(...platformGraphs(watched));
    add(costWidgets(watched));
  }
}

/** Hosts of the AWS console outside of the usual partition, by the start of a Region's name. */
const consoleHosts: Readonly<Record<string, string>> = {
  "cn-": "console.amazonaws.cn",
  "us-gov-": "console.amazonaws-us-gov.com",
  "eusc-": "console.amazonaws-eusc.eu",
};

/** The host of the AWS console in a Region. The usual one, where only the deployment knows the Region. */
export function consoleHost(region: string): string {
  const start = Object.keys(consoleHosts).find((one) => !Token.isUnresolved(region) && region.startsWith(one));
  return `${region}.${start === undefined ? "console.aws.amazon.com" : consoleHosts[start]}`;
}

function introduction({ name }: Watched, runbookUrl: string): IWidget {
  const link = URL.canParse(runbookUrl) ? `[runbook](${runbookUrl})` : `runbook: \`${runbookUrl}\``;
  const names = Object.keys(queries)
    .map((query) => `*${query}*`)
    .join(", ");
  const markdown = [
    `# ${name}`,
    `The text of an alarm names its section of the ${link}. To find a failing task, take tenant and task from *Failures by type* ` +
      "below, run `npx offload dlq list --tenant <tenant>` and `npx offload dlq show <task id>`, then the saved query " +
      "*find a task*, then *one trace* with the `trace_id` of its lines.",
    `The saved queries are in folder **${name}** of Logs Insights: ${names}.`,
  ].join("\n\n");
  return new TextWidget({ markdown, width: columns, height: 4 });
}

function tierGraphs(tier: Tier, { data, metrics }: Watched): IWidget[] {
  const queue = data.queues[tier];
  const most = { period: aMinute, statistic: Stats.MAXIMUM };
  return [
    graph("Messages", [
      queue.metricApproximateNumberOfMessagesVisible({ ...most, label: "waiting" }),
      queue.metricApproximateNumberOfMessagesNotVisible({ ...most, label: "in flight" }),
      queue.metricApproximateNumberOfMessagesDelayed({ ...most, label: "delayed" }),
    ]),
    graph(
      "Oldest message",
      [
        queue.metricApproximateAgeOfOldestMessage({ ...most, label: "all tenants" }),
        queue.metric("ApproximateAgeOfOldestMessageInQuietGroups", { ...most, label: "quiet tenants" }),
      ],
      { label: "s", showUnits: false },
    ),
    graph("Tasks", [
      metrics.of("submitted", tier, { label: "submitted" }),
      metrics.of("started", tier, { label: "attempts started" }),
      metrics.of("completed", tier, { label: "completed" }),
      metrics.of("suspended", tier, { label: "suspended" }),
      metrics.of("parked", tier, { label: "put into a line" }),
    ]),
    graph("Wait for a worker", percentiles("queue_wait_ms", tier, metrics), milliseconds),
    graph("Processing", percentiles("processing_ms", tier, metrics), milliseconds),
    graph("Failures and retries", [
      metrics.of("failed", tier, { label: "failed" }),
      metrics.of("retried", tier, { label: "retried" }),
      metrics.of("crashed", tier, { label: "crashed" }),
      metrics.of("timed_out", tier, { label: "timed out" }),
      metrics.of("throttled", tier, { label: "rate limited" }),
      metrics.of("dead_lettered", tier, { label: "dead-lettered" }),
      data.dlqs[tier].metricApproximateNumberOfMessagesVisible({ ...most, label: "in the DLQ" }),
    ]),
  ];
}

const milliseconds: YAxisProps = { label: "ms", showUnits: false };

type TimeName = "queue_wait_ms" | "processing_ms" | "webhook_ms";

const percentiles = (name: TimeName, tier: Tier, metrics: PipelineMetrics, percents = [50, 90, 99]): IMetric[] =>
  percents.map((percent) => metrics.of(name, tier, { statistic: Stats.percentile(percent), label: `p${percent}` }));

function typeWidgets(watched: Watched): IWidget[] {
  const { metrics } = watched;
  const typeGraph = (name: string, found: IMetric, axis?: YAxisProps) =>
    new GraphWidget({
      title: name,
      left: [found],
      leftYAxis: { min: 0, showUnits: false, ...axis },
      width: 6,
      height: 7,
    });
  return [
    typeGraph("Failed, by type", metrics.byType("failed")),
    typeGraph("Processing p99, by type", metrics.byType("processing_ms"), milliseconds),
    logTable("failures by type", watched),
  ];
}

const logTable = (query: QueryName, watched: Watched): IWidget =>
  new LogQueryWidget({
    title: title(query),
    view: LogQueryVisualizationType.TABLE,
    logGroupNames: logGroupsOf(watched, queries[query].lines).map(({ logGroupName }) => logGroupName),
    queryLines: [...queries[query].text],
    width: 12,
    height: 7,
  });

const familyText =
  "## Families\n\nTasks that wait for their children. The saved query *waiting families* lists them, the longest wait first.";

function familyGraphs({ metrics }: Watched): IWidget[] {
  const ofTiers = (name: MetricName) => tiers.map((tier) => metrics.of(name, tier, { label: tier }));
  return [
    graph("Begin to wait for children", ofTiers("family_waits")),
    graph("All children ended", ofTiers("family_closed")),
    graph("Wait for children, p99", ofTiers("family_wait_ms"), milliseconds),
  ];
}

const noticeText =
  "## Notices\n\nWebhooks, channels and events. The saved query *failed webhooks* lists receivers that fail, with their last answer.";

function noticeGraphs({ data, metrics }: Watched): IWidget[] {
  const { notifyQueue: queue, notifyDlq: dlq } = data;
  const most = { period: aMinute, statistic: Stats.MAXIMUM };
  // Webhooks are counted without the tiers of their tasks.
  const count = (name: MetricName, label: string) => metrics.of(name, "normal", { label });
  return [
    graph("Notices", [
      queue.metricApproximateNumberOfMessagesVisible({ ...most, label: "waiting" }),
      queue.metricApproximateNumberOfMessagesNotVisible({ ...most, label: "in flight" }),
      queue.metricApproximateNumberOfMessagesDelayed({ ...most, label: "delayed" }),
      dlq.metricApproximateNumberOfMessagesVisible({ ...most, label: "in the DLQ" }),
    ]),
    graph(
      "Oldest notice",
      [
        queue.metricApproximateAgeOfOldestMessage({ ...most, label: "all tenants" }),
        queue.metric("ApproximateAgeOfOldestMessageInQuietGroups", { ...most, label: "quiet tenants" }),
      ],
      { label: "s", showUnits: false },
    ),
    graph("Webhooks", [
      count("webhook_delivered", "delivered"),
      count("webhook_retried", "retried"),
      count("webhook_failed", "given up"),
    ]),
    graph("Answers of receivers", percentiles("webhook_ms", "normal", metrics, [50, 99]), milliseconds),
  ];
}

function platformGraphs({ api, data, functions }: Watched): IWidget[] {
  const ofEach = (metric: (fn: LambdaFunction, label: string) => IMetric) =>
    Object.entries(functions).map(([name, { function: fn }]) => metric(fn, name));
  const { group, firings, dlq } = data.scheduling;
  const most = { period: aMinute, statistic: Stats.MAXIMUM };
  return [
    graph("Requests", [
      api.metricCount({ statistic: Stats.SUM, label: "all" }),
      api.metricClientError({ label: "4xx" }),
      api.metricServerError({ label: "5xx" }),
    ]),
    graph(
      "Latency",
      [50, 90, 99].map((percent) => api.metricLatency({ statistic: Stats.percentile(percent), label: `p${percent}` })),
      milliseconds,
    ),
    graph(
      "Concurrent invocations",
      ofEach((fn, label) => fn.metric("ConcurrentExecutions", { ...most, label })),
    ),
    graph("Failed and throttled invocations", [
      ...ofEach((fn, label) => fn.metricErrors({ label: `${label} failed` })),
      ...ofEach((fn, label) => fn.metricThrottles({ label: `${label} throttled` })),
    ]),
    graph("Schedules and long waits", [
      group.metricAttempts({ label: "firings" }),
      group.metricThrottled({ label: "throttled" }),
      firings.metricApproximateNumberOfMessagesVisible({ ...most, label: "waiting for a retry" }),
      dlq.metricApproximateNumberOfMessagesVisible({ ...most, label: "in the DLQ" }),
    ]),
    graph("Redrive", [
      data.redriveQueue.metricApproximateNumberOfMessagesVisible({ ...most, label: "waiting for redrive" }),
      data.redriveDlq.metricApproximateNumberOfMessagesVisible({ ...most, label: "in redrive's DLQ" }),
    ]),
  ];
}

/** Cost of the selected time range, and its parts over time. */
function costWidgets(watched: Watched): IWidget {
  const parts = costParts(watched);
  return new Row(
    new SingleValueWidget({
      title: "USD in the selected time range",
      metrics: [costTotal(parts)],
      setPeriodToTimeRange: true,
      fullPrecision: false,
      width: 6,
      height: 6,
    }),
    new GraphWidget({ title: `USD per hour: ${costNote}`, left: parts, stacked: true, width: 18, height: 6 }),
  );
}
