import { App } from "aws-cdk-lib";
import { addChecks } from "../lib/checks.ts";
import { reviewAtSynth } from "../lib/doctor.ts";
import { TaskPipeline } from "../lib/task-pipeline.ts";
import { toCatalog } from "../src/core/catalog.ts";
import { loadApp } from "../src/task-files.ts";

/*
 * The CDK app. Context, as in `npm run deploy -- -c stage=prod -c alarmEmail=team@example.com`:
 * stage          which deployment; default: dev. Any other keeps its data, and must have somebody who hears of alarms
 * alarmEmail     who hears of alarms; default: nobody
 * alarmTopicArn  an SNS topic that alarms are to speak to; default: one of their own
 * unheardAlarms  1 when nobody is to hear of alarms; default: 0
 * alarms         0 in dev makes no alarms, which cost about $9 a month; default: 1
 * dashboard      0 makes no dashboard, which costs $3 a month beyond an account's third; default: 1
 * runbookUrl     where alarms say that the runbook is; default: docs/runbook.md
 * adotLayerArn   a version of AWS's OpenTelemetry layer, which sends traces to X-Ray; default: no traces
 * probes         1 registers the probe types, for tests of a deployment; default: 0
 * timeScale      multiplies retry waits, for tests of a deployment; default: 1
 */
export const app = new App();
const context = (name: string): string | undefined => app.node.tryGetContext(name);
/** @throws TypeError for what is neither 0 nor 1 */
const isOn = (name: string, otherwise: "0" | "1"): boolean => {
  const given = String(context(name) ?? otherwise);
  if (given !== "0" && given !== "1") throw new TypeError(`-c ${name}=${given}: expected 0 or 1`);
  return given === "1";
};
const probes = isOn("probes", "0");
const alarmEmail = context("alarmEmail");
const alarmTopicArn = context("alarmTopicArn");
const runbookUrl = context("runbookUrl");
const layerArn = context("adotLayerArn");

const { types, schedules } = await loadApp(probes);

new TaskPipeline(app, "Offload", {
  stage: context("stage") ?? "dev",
  catalog: toCatalog(types),
  schedules,
  probes,
  timeScale: Number(context("timeScale") ?? 1),
  alarms: isOn("alarms", "1") && {
    unheard: isOn("unheardAlarms", "0"),
    ...(runbookUrl !== undefined && { runbookUrl }),
  },
  dashboard: isOn("dashboard", "1"),
  ...(alarmEmail !== undefined && { alarmEmail }),
  ...(alarmTopicArn !== undefined && { alarmTopicArn }),
  ...(layerArn !== undefined && { tracing: { layerArn } }),
});
addChecks(app);
reviewAtSynth(app, types);
