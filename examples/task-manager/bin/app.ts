import { App, RemovalPolicy, Stack } from "aws-cdk-lib";
import { AttributeType, BillingMode, Table } from "aws-cdk-lib/aws-dynamodb";
import { TaskPipeline } from "offload/cdk";

const app = new App();
// `cdk deploy -c stage=prod`: every stage but dev keeps its data, and needs a receiver for its alarms.
const stage = app.node.tryGetContext("stage") ?? "dev";

// The login service gets this table, too: USERS=dynamodb:task-manager-users-<stage>.
const users = new Table(new Stack(app, `TaskManager-${stage}`), "Users", {
  tableName: `task-manager-users-${stage}`,
  partitionKey: { name: "email", type: AttributeType.STRING },
  sortKey: { name: "item", type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy: stage === "dev" ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN,
});

const pipeline = new TaskPipeline(app, "Offload", {
  stage,
  tasks: "tasks",
  environment: {
    USERS: `dynamodb:${users.tableName}`,
    ...(process.env.SMTP_URL !== undefined && { SMTP_URL: process.env.SMTP_URL }),
  },
  alarmEmail: app.node.tryGetContext("alarmEmail"),
  // `-c profile=small`: for a new AWS account with only 10 concurrent invocations.
  profile: app.node.tryGetContext("profile"),
});
pipeline.grantToTasks(users, "readWrite");
