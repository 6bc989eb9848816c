import { CfnOutput } from "aws-cdk-lib";
import type { IAlarm } from "aws-cdk-lib/aws-cloudwatch";
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
  /** @default - none */
  readonly alarmEmail?: string;
  /** @default - the alarms have their own topic */
  readonly alarmTopicArn?: string;
}

/** Adds the alarms, the saved queries and the dashboard. */
export function addObservability(scope: Construct, watched: Watched, options: ObservabilityOptions): void {
  const runbookUrl = (options.alarms === false ? undefined : options.alarms.runbookUrl) ?? defaultRunbookUrl;
  const alarms = alarmsOf(scope, watched, runbookUrl, options);
  new Queries(scope, "Queries", watched);
  if (!options.dashboard) return;
  const { url } = new PipelineDashboard(scope, "Dashboard", { watched, alarms, runbookUrl });
  new CfnOutput(scope, "DashboardUrl", { value: url });
}

function alarmsOf(
  scope: Construct,
  watched: Watched,
  runbookUrl: string,
  { alarms: options, alarmEmail, alarmTopicArn }: ObservabilityOptions,
): readonly IAlarm[] {
  if (options === false) return [];
  const alarms = new Alarms(scope, "Alarms", {
    deployment: watched.name,
    runbookUrl,
    ...(alarmEmail !== undefined && { email: alarmEmail }),
    ...(alarmTopicArn !== undefined && { topicArn: alarmTopicArn }),
  });
  addAlarms(alarms, watched, thresholdsOf(options));
  return alarms.all;
}
