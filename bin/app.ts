import { App } from "aws-cdk-lib";
import { addChecks } from "../lib/checks.ts";
import { TaskPipeline } from "../lib/task-pipeline.ts";
import { toCatalog } from "../src/core/catalog.ts";
import { acceptedTypes } from "../tasks/index.ts";
import { schedules } from "../tasks/schedules.ts";

/*
 * The CDK app. Context, as in `npm run deploy -- -c stage=prod`:
 * stage       which deployment; default: dev
 * alarmEmail  who hears of alarms; default: nobody
 * probes      1 registers the probe types, for tests of a deployment; default: 0
 * timeScale   multiplies retry waits, for tests of a deployment; default: 1
 */
export const app = new App();
const context = (name: string): string | undefined => app.node.tryGetContext(name);
const probes = context("probes") === "1";
const alarmEmail = context("alarmEmail");

new TaskPipeline(app, "Offload", {
  stage: context("stage") ?? "dev",
  catalog: toCatalog(acceptedTypes(probes)),
  schedules,
  probes,
  timeScale: Number(context("timeScale") ?? 1),
  ...(alarmEmail !== undefined && { alarmEmail }),
});
addChecks(app);
