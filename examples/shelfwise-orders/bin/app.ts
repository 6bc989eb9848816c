import { App, CfnParameter, SecretValue, Stack } from "aws-cdk-lib";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { TaskPipeline } from "offload/cdk";

const app = new App();
// `cdk deploy -c stage=prod`: every stage but dev keeps its data, and needs a receiver for its alarms.
const stage = app.node.tryGetContext("stage") ?? "dev";

// The key of the shop's server, which handlers call: `cdk deploy --all --parameters Shelfwise-prod:ShopKey=...`.
const shelfwise = new Stack(app, `Shelfwise-${stage}`);
const shopKey = new CfnParameter(shelfwise, "ShopKey", {
  noEcho: true,
  ...(stage === "dev" && { default: "dev-shop-key" }),
});
const secretName = `shelfwise/${stage}/shop-key`;
new Secret(shelfwise, "ShopKeySecret", { secretName, secretStringValue: SecretValue.cfnParameter(shopKey) });

/** The variables of `tasks/environment.ts` that are set for this deployment, such as `SHOP_URL=https://... cdk deploy`. */
const given = ["SHOP_URL", "SMTP_URL"].flatMap((name) => {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value] as const];
});

new TaskPipeline(app, "Offload", {
  stage,
  tasks: "tasks",
  environment: Object.fromEntries(given),
  secrets: { SHOP_KEY: secretName },
  alarmEmail: app.node.tryGetContext("alarmEmail"),
  // `-c profile=small`: for a new AWS account with only 10 concurrent invocations.
  profile: app.node.tryGetContext("profile"),
});
