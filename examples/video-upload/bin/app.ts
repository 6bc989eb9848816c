import { App } from "aws-cdk-lib";
import { CorsHttpMethod } from "aws-cdk-lib/aws-apigatewayv2";
import { Platform } from "aws-cdk-lib/aws-ecr-assets";
import { ContainerImage } from "aws-cdk-lib/aws-ecs";
import { type ContainerOptions, TaskPipeline } from "offload/cdk";

const app = new App();

/** Containers of Fargate with ffmpeg. Docker builds their image when you deploy. */
const fargate = (): ContainerOptions => ({
  image: ContainerImage.fromAsset("image", { platform: Platform.LINUX_ARM64 }),
  cpu: 4096,
  memoryMiB: 8192,
  concurrency: 3,
});

new TaskPipeline(app, "Offload", {
  // `cdk deploy -c stage=prod`: every stage but dev keeps its data, and needs a receiver for its alarms.
  stage: app.node.tryGetContext("stage") ?? "dev",
  tasks: "tasks",
  // Without `-c containers=1` there are only the queues: run `npx offload work --table <TableName>` where ffmpeg is installed.
  containers: app.node.tryGetContext("containers") === undefined ? { maxTasks: 0 } : fargate(),
  // The page sends its file straight to the bucket.
  cors: {
    allowOrigins: [process.env.WEB_ORIGIN ?? "http://127.0.0.1:4000"],
    allowMethods: [CorsHttpMethod.ANY],
    allowHeaders: ["authorization", "content-type"],
  },
  alarmEmail: app.node.tryGetContext("alarmEmail"),
  // `-c profile=small`: for a new AWS account with only 10 concurrent invocations.
  profile: app.node.tryGetContext("profile"),
});
