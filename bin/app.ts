import { App } from "aws-cdk-lib";
import { addChecks } from "../lib/checks.ts";
import type { ProfileName } from "../lib/profile.ts";
import { settingError } from "../lib/setting-error.ts";
import { TaskPipeline } from "../lib/task-pipeline.ts";

/*
 * The CDK app. Context values, such as `npm run deploy -- -c stage=prod -c alarmEmail=team@example.com`: stage name of
 * the deployment; default: dev. Any other stage keeps its data and needs a receiver for its alarms alarmEmail e-mail
 * address that gets the alarms; default: none alarmTopicArn ARN of an SNS topic for the alarms; default: the deployment
 * has its own topic unheardAlarms 1 allows a stage without a receiver for its alarms; default: 0 alarms 0 creates no
 * alarms, which saves about $9 a month; only in dev; default: 1 dashboard 0 creates no dashboard, which costs $3 a
 * month from an account's fourth on; default: 1 runbookUrl URL of the runbook in the texts of alarms; default:
 * `npx offload docs runbook` adotLayerArn ARN of a version of AWS's OpenTelemetry layer, which sends traces to X-Ray;
 * default: no traces profile small for an account with 10 concurrent invocations, as new ones have; default: standard
 * events 1 sends an event at each end of a task, to a new event bus of EventBridge; default: 0 push 1 lets clients open
 * channels, which tell them of tasks by WebSocket; default: 0 callbackHosts hosts that webhooks may reach although they
 * are not public, as `host:port`, with commas between them; default: none containers 1 adds container workers on
 * Fargate, for task types with runsOn: "container"; default: 0 probes 1 registers the probe types, for tests of a
 * deployment; default: 0 timeScale factor for retry waits, for tests of a deployment; default: 1
 */
export const app = new App();
const context = (name: string): string | undefined => app.node.tryGetContext(name);
/** @throws TypeError for a value other than 0 and 1 */
const isOn = (name: string, otherwise: "0" | "1"): boolean => {
  const given = String(context(name) ?? otherwise);
  if (given !== "0" && given !== "1") throw settingError(`-c ${name}=${given}: expected 0 or 1`);
  return given === "1";
};
const probes = isOn("probes", "0");
const alarmEmail = context("alarmEmail");
const alarmTopicArn = context("alarmTopicArn");
const runbookUrl = context("runbookUrl");
const layerArn = context("adotLayerArn");
const callbackHosts = context("callbackHosts");

new TaskPipeline(app, "Offload", {
  stage: context("stage") ?? "dev",
  tasks: "tasks",
  probes,
  timeScale: Number(context("timeScale") ?? 1),
  profile: (context("profile") as ProfileName | undefined) ?? "standard",
  alarms: isOn("alarms", "1") && {
    unheard: isOn("unheardAlarms", "0"),
    ...(runbookUrl !== undefined && { runbookUrl }),
  },
  dashboard: isOn("dashboard", "1"),
  // One of the probe types runs in container workers.
  ...(isOn("containers", "0") ? { containers: {} } : probes && { containers: { maxTasks: 0 } }),
  ...(isOn("events", "0") && { events: true as const }),
  push: isOn("push", "0"),
  ...(callbackHosts !== undefined && { callbackHosts: callbackHosts.split(",") }),
  ...(alarmEmail !== undefined && { alarmEmail }),
  ...(alarmTopicArn !== undefined && { alarmTopicArn }),
  ...(layerArn !== undefined && { tracing: { layerArn } }),
});
addChecks(app);
