import { App, Stack } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import type { TaskPipelineProps } from "../../lib/pipeline-props.ts";
import { TaskPipeline } from "../../lib/task-pipeline.ts";
import { emulate } from "./emulate.ts";

/*
 * A CDK app for emulated accounts, whose options are switched on and off. Context values:
 * stage     default: prod
 * on        1 switches every option on; default: 0
 * preview   1 keeps no data, and registers the probe types; default: 0
 * greeting  variable of handlers in a preview; default: hello
 * Only previews run tasks: the code of others is not bundled.
 */
const isOn = (name: string): boolean => app.node.tryGetContext(name) === "1";
const app = new App();
if (!isOn("preview")) app.node.setContext("aws:cdk:bundling-stacks", []);

const options = (): TaskPipelineProps => ({
  events: true,
  push: true,
  containers: { maxTasks: 0 },
  cors: { allowOrigins: ["https://shop.example.com"] },
  jwt: { issuer: "https://login.example.com", audience: "offload", console: { clientId: "console" } },
  limits: { tenants: { tasksInProgress: 10 } },
  callbackHosts: ["receiver.internal:8443"],
  listShards: 8,
  vendedAccessLog: true,
  encryptionKey: new Key(new Stack(app, "Keys"), "Key"),
});

const preview: TaskPipelineProps = {
  tasks: "test/support/switched-tasks",
  environment: { GREETING: app.node.tryGetContext("greeting") ?? "hello" },
  dataProtection: false,
  alarms: false,
  dashboard: false,
  probes: true,
  containers: { maxTasks: 0 },
};

new TaskPipeline(app, "Offload", {
  stage: app.node.tryGetContext("stage") ?? "prod",
  ...(isOn("preview") ? preview : { alarms: { unheard: true } }),
  ...(isOn("on") && options()),
});
emulate(app);
