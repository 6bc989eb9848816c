/* Names that parts of programs in the pages use without importing or declaring them. */

// Clients
declare const client: import("offload/client").Client<typeof import("./tasks/index.ts")>;
declare const createClient: typeof import("offload/client").createClient;
declare const admin: import("offload/client").Admin;
declare const keyId: string;
declare const audit: import("offload/client").Audit;
declare const flow: import("offload/client").Flow;
declare const operations: import("offload/client").Operations;
declare const webhooks: import("offload/client").Webhooks;
declare const receivers: import("offload/client").Receivers;
declare const webhookId: string;
declare const createDirectClient: typeof import("offload/direct").createDirectClient;
declare const tasks: typeof import("./tasks/index.ts");
declare const session: () => Promise<{ token: string }>;
declare const task: import("offload/client").SubmittedTask<File>;
declare const taskId: string;
declare const scheduleId: string;
declare const operationId: string;
declare const submitSettings: string;
declare const datadogKey: import("aws-cdk-lib/aws-secretsmanager").ISecret;
interface Order {
  id: string;
}

// Task types
declare const defineTask: typeof import("offload").defineTask;
declare const z: typeof import("zod");
declare const send: (to: string[], locale: string, signal: AbortSignal) => Promise<unknown>;

// CDK apps
declare const app: import("aws-cdk-lib").App;
declare const stack: import("aws-cdk-lib").Stack;
declare const stage: string;
declare const env: import("aws-cdk-lib").Environment;
declare const CfnOutput: typeof import("aws-cdk-lib").CfnOutput;
declare const Duration: typeof import("aws-cdk-lib").Duration;
declare const CorsHttpMethod: typeof import("aws-cdk-lib/aws-apigatewayv2").CorsHttpMethod;
declare const NodejsFunction: typeof import("aws-cdk-lib/aws-lambda-nodejs").NodejsFunction;
declare const TaskPipeline: typeof import("offload/cdk").TaskPipeline;
declare const directSubmitBundling: typeof import("offload/cdk").directSubmitBundling;
declare const pipeline: import("offload/cdk").TaskPipeline;
declare const bucket: import("aws-cdk-lib/aws-s3").Bucket;
declare const eventBus: import("aws-cdk-lib/aws-events").EventBus;
declare const stateMachine: import("aws-cdk-lib/aws-stepfunctions").StateMachine;
declare const sendMail: import("aws-cdk-lib/aws-iam").PolicyStatement;
declare const database: import("aws-cdk-lib/aws-rds").DatabaseInstance;
declare const vpc: import("aws-cdk-lib/aws-ec2").Vpc;
declare const fonts: import("aws-cdk-lib/aws-lambda").LayerVersion;
declare const ffmpeg: import("aws-cdk-lib/aws-lambda").LayerVersion;
declare const certificate: import("aws-cdk-lib/aws-certificatemanager").Certificate;
declare const hostedZone: import("aws-cdk-lib/aws-route53").HostedZone;
declare const taskDefinition: import("aws-cdk-lib/aws-ecs").FargateTaskDefinition;
declare const image: import("aws-cdk-lib/aws-ecs").ContainerImage;
declare const ShopStack: typeof import("aws-cdk-lib").Stack;

// Libraries that this project does not have
declare class Pool {
  constructor(options: {
    host: string | undefined;
    password: () => string | undefined;
    max: number;
    idleTimeoutMillis: number;
  });
}
declare module "server-only";
declare module "pg" {
  export class Pool {
    constructor(options: { connectionString: string | undefined; max: number });
    on(event: "error", listener: (error: Error) => void): this;
    query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
    end(): Promise<void>;
  }
}
declare module "@sentry/node" {
  export function init(options: {
    dsn: string | undefined;
    defaultIntegrations: false;
    skipOpenTelemetrySetup: boolean;
  }): unknown;
  export function flush(timeoutMs: number): Promise<boolean>;
}
declare module "@opentelemetry/exporter-trace-otlp-http" {
  export class OTLPTraceExporter {}
}
declare module "@opentelemetry/sdk-trace-node" {
  export class BatchSpanProcessor {
    constructor(exporter: object);
  }
  export class NodeTracerProvider {
    constructor(options: { spanProcessors: BatchSpanProcessor[] });
    register(): void;
    forceFlush(): Promise<void>;
    shutdown(): Promise<void>;
  }
}
declare module "pino" {
  interface Logger {
    info(fields: object, message: string): void;
  }
  export default function pino(options: { base: null }, stream: import("node:stream").Writable): Logger;
}
declare module "winston" {
  export const transports: { Stream: new (options: { stream: import("node:stream").Writable }) => object };
  export function createLogger(options: { transports: object[] }): { info(message: string, fields: object): void };
  const winston: { transports: typeof transports; createLogger: typeof createLogger };
  export default winston;
}
