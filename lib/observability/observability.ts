import { CfnOutput } from "aws-cdk-lib";
import type { Dashboard } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { type AlarmOptions, defaultRunbookUrl, thresholdsOf } from "./alarm-options.ts";
import { Alarms } from "./alarms.ts";
import { PipelineDashboard } from "./dashboard.ts";
import { Queries } from "./queries.ts";
import { addAlarms } from "./service-alarms.ts";
import type { Watched } from "./watched.ts";

export interface ObservabilityOptions {
  /** Thresholds of alarms. `false`: no alarms. */
  readonly alarms: AlarmOptions | false;
  /** True to create a dashboard. */
  readonly dashboard: boolean;
  /** Name of the dashboard, which is one of the whole account's. */
  readonly dashboardName: string;
  /** @default - none */
  readonly alarmEmail?: string;
  /** @default - the alarms have their own topic */
  readonly alarmTopicArn?: string;
}

/** The parts that an app may add to. */
export interface Observability {
  /** Undefined: the deployment has no alarms. */
  readonly alarms: Alarms | undefined;
  /** Undefined: the deployment has no dashboard. */
  readonly dashboard: Dashboard | undefined;
}

/** Adds the alarms, the saved queries and the dashboard. */
export function addObservability(scope: Construct, watched: Watched, options: ObservabilityOptions): Observability {
  const runbookUrl = (options.alarms === false ? undefined : options.alarms.runbookUrl) ?? defaultRunbookUrl;
  const alarms = alarmsOf(scope, watched, runbookUrl, options);
  new Queries(scope, "Queries", watched);
  if (!options.dashboard) return { alarms, dashboard: undefined };
  const { url, dashboard } = new PipelineDashboard(scope, "Dashboard", {
    ...{ watched, alarms: alarms?.all ?? [], runbookUrl },
    dashboardName: options.dashboardName,
  });
  new CfnOutput(scope, "DashboardUrl", { value: url });
  return { alarms, dashboard };
}

function alarmsOf(
  scope: Construct,
  watched: Watched,
  runbookUrl: string,
  { alarms: options, alarmEmail, alarmTopicArn, dashboardName }: ObservabilityOptions,
): Alarms | undefined {
  if (options === false) return undefined;
  const alarms = new Alarms(scope, "Alarms", {
    deployment: watched.name,
    ...{ runbookUrl, dashboardName },
    ...(alarmEmail !== undefined && { email: alarmEmail }),
    ...(alarmTopicArn !== undefined && { topicArn: alarmTopicArn }),
  });
  addAlarms(alarms, watched, thresholdsOf(options));
  return alarms;
}
