import { App } from "aws-cdk-lib";
import { TaskPipeline } from "offload/cdk";

const app = new App();

new TaskPipeline(app, "Offload", {
  // `cdk deploy -c stage=prod`: every stage but dev keeps its data, and needs a receiver for its alarms.
  stage: app.node.tryGetContext("stage") ?? "dev",
  tasks: "tasks",
  environment: { ...(process.env.SMTP_URL !== undefined && { SMTP_URL: process.env.SMTP_URL }) },
  alarmEmail: app.node.tryGetContext("alarmEmail"),
  // `-c profile=small`: for a new AWS account with only 10 concurrent invocations.
  profile: app.node.tryGetContext("profile"),
});
