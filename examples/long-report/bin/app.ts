import { App, CfnParameter, SecretValue, Stack } from "aws-cdk-lib";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { TaskPipeline } from "offload/cdk";

const app = new App();
// `cdk deploy -c stage=prod`: every stage but dev keeps its data, and needs a receiver for its alarms.
const stage = app.node.tryGetContext("stage") ?? "dev";

// The key with which handlers store reports: `cdk deploy --all --parameters LongReport-prod:ReportsKey=...`.
const stack = new Stack(app, `LongReport-${stage}`);
const reportsKey = new CfnParameter(stack, "ReportsKey", {
  noEcho: true,
  ...(stage === "dev" && { default: "dev-reports-key" }),
});
const secret = new Secret(stack, "ReportsKeySecret", { secretStringValue: SecretValue.cfnParameter(reportsKey) });

const { REPORTS_URL, CALLBACK_HOSTS } = process.env;

new TaskPipeline(app, "Offload", {
  stage,
  tasks: "tasks",
  push: true,
  environment: { ...(REPORTS_URL !== undefined && { REPORTS_URL }) },
  secrets: { REPORTS_KEY: { secret } },
  // Receivers of webhooks that are not public. Leave it out: public receivers with https need no entry.
  ...(CALLBACK_HOSTS !== undefined && { callbackHosts: CALLBACK_HOSTS.split(",") }),
  alarmEmail: app.node.tryGetContext("alarmEmail"),
  // `-c profile=small`: for a new AWS account with only 10 concurrent invocations.
  profile: app.node.tryGetContext("profile"),
});
