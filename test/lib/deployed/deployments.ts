import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { type App, Duration, Stack } from "aws-cdk-lib";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { type IVpc, Vpc } from "aws-cdk-lib/aws-ec2";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import type { TaskPipeline } from "../../../lib/task-pipeline.ts";
import { defineSchedule } from "../../../src/core/schedules/app-schedule.ts";
import { defineTrigger } from "../../../src/core/schedules/define-trigger.ts";
import { echo, type Props, synthesize } from "../synthesis.ts";

/*
 * Deployments that users have: each option by itself, and all together. `released.br` has their templates as the last release made
 * them; `test/lib/upgrade.test.ts` compares them with today's. `node test/lib/deployed/write.ts` writes the file anew, on the day of a
 * release and at no other time.
 */

interface Deployment {
  readonly props: Props | ((app: App) => Props);
  readonly use?: (pipeline: TaskPipeline) => void;
}

const nightly = defineSchedule({
  name: "report.nightly",
  cron: "0 3 * * *",
  tenantId: "acme",
  type: echo,
  input: { value: 1 },
});

const upload = defineTrigger({
  name: "upload",
  pattern: { source: ["aws.s3"] },
  tenantId: "acme",
  type: echo,
  input: { value: "$.detail.object.key" },
});

const prod = { stage: "prod", alarmEmail: "team@example.com" } as const;

const layerArn = "arn:aws:lambda:eu-central-1:615299751070:layer:AWSOpenTelemetryDistroJs:10";

const certificateArn = "arn:aws:acm:eu-central-1:111111111111:certificate/00000000-0000-0000-0000-000000000000";

const domainIn = (app: App) => ({
  name: "tasks.example.com",
  certificate: Certificate.fromCertificateArn(new Stack(app, "Certificates"), "Certificate", certificateArn),
});

const vpcIn = (app: App): IVpc =>
  Vpc.fromVpcAttributes(new Stack(app, "Network"), "Vpc", {
    vpcId: "vpc-1",
    availabilityZones: ["eu-central-1a", "eu-central-1b"],
    privateSubnetIds: ["subnet-1", "subnet-2"],
    publicSubnetIds: ["subnet-3", "subnet-4"],
  });

const options = {
  events: { events: true },
  eventsTo: { events: { busName: "shop" } },
  containers: { containers: {} },
  containersElsewhere: { containers: { maxTasks: 0 } },
  push: { push: true },
  tracing: { tracing: { layerArn } },
  cors: { cors: { allowOrigins: ["https://shop.example.com"] } },
  jwt: { jwt: { issuer: "https://login.example.com", audience: "offload", console: { clientId: "console" } } },
  limits: { limits: { tenants: { tasksInProgress: 10 } }, listShards: 8 },
  callbackHosts: { callbackHosts: ["receiver.internal:8443"] },
  secrets: { secrets: { STRIPE_KEY: "prod/stripe" }, environment: { GREETING: "hello" } },
  logRetention: { logRetention: RetentionDays.ONE_YEAR, throttle: { requestsPerSecond: 50, burst: 100 } },
  tiers: { tiers: { low: { timeout: Duration.minutes(5), batchWindow: Duration.seconds(20), memorySize: 1024 } } },
  schedules: { schedules: [nightly] },
  triggers: { triggers: [upload] },
} as const satisfies Record<string, Props>;

const pollers = { tiers: { critical: { provisionedPollers: { minimum: 2, maximum: 4 } } } };

const alarmTopicArn = "arn:aws:sns:eu-central-1:111111111111:alarms";

const { eventsTo: _, containersElsewhere: __, ...compatible } = options;

/** Role that submits directly, in the pipeline's own stack. */
const submitDirectly = (pipeline: TaskPipeline): void => pipeline.grantSubmit(pipeline.taskRole);

export const deployments: Readonly<Record<string, Deployment>> = {
  dev: { props: {} },
  "dev without alarms and dashboard": { props: { alarms: false, dashboard: false } },
  "dev with probes": { props: { probes: true, containers: { maxTasks: 0 } } },
  prod: { props: prod },
  "prod in a known place": { props: { ...prod, env: { account: "111111111111", region: "eu-central-1" } } },
  "prod of size small": { props: { ...prod, profile: "small" } },
  "prod with pollers": { props: { ...prod, ...pollers } },
  "prod with an own topic": { props: { stage: "prod", alarmTopicArn } },
  "prod with domain": { props: (app) => ({ ...prod, domain: domainIn(app) }) },
  "prod with vpc": { props: (app) => ({ ...prod, vpc: vpcIn(app) }) },
  "prod with direct submits": { props: prod, use: submitDirectly },
  ...Object.fromEntries(
    Object.entries(options).map(([name, option]) => [`prod with ${name}`, { props: { ...prod, ...option } }]),
  ),
  "prod with everything": {
    props: (app) => ({ ...prod, ...Object.assign({}, ...Object.values(compatible)), domain: domainIn(app) }),
    use: submitDirectly,
  },
};

export interface ResourceJson {
  Type: string;
  Properties?: Record<string, unknown>;
  DeletionPolicy?: string;
}

/** A stack's template. */
export interface TemplateJson {
  Resources: Record<string, ResourceJson>;
  Parameters?: Record<string, { Type: string }>;
}

/** The templates of a deployment, by the name of the stack. */
export type Templates = Record<string, TemplateJson>;

export function templatesOf({ props, use }: Deployment): Templates {
  const { pipeline, data, service } = synthesize(props, use);
  return {
    [pipeline.data.stackName]: data.toJSON() as TemplateJson,
    [pipeline.service.stackName]: service.toJSON() as TemplateJson,
  };
}

const file = new URL("released.br", import.meta.url);

export const readReleased = (): Record<string, Templates> =>
  JSON.parse(brotliDecompressSync(readFileSync(file)).toString());

/** Writes the templates. Most of each is in the one before it, so a window over all of them makes the file small. */
export function writeReleased(all: Record<string, Templates>): void {
  const text = Buffer.from(JSON.stringify(all));
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
  writeFileSync(file, brotliCompressSync(text, { params }));
}
