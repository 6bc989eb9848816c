/** Date of the last comparison of these figures with their sources. */
export const figuresAsOf = "2026-11-21";

/** Region of the prices. */
export const priceRegion = "us-east-1";

/** One price or limit of AWS. */
export interface Figure {
  readonly value: number;
  readonly unit: string;
  /** Source of the value. "unchecked" marks values without a current page to confirm them. */
  readonly source: string;
}

const priceList = "AWS Price List, read 2026-09";

/**
 * AWS list prices in US dollars: the first volume tier, without free tier. A scenario can override each of them, for
 * another Region or a discount.
 */
export const prices = {
  httpApiRequests: { value: 1.0, unit: "per million requests", source: "API Gateway pricing page: HTTP APIs" },
  lambdaRequests: { value: 0.2, unit: "per million requests", source: priceList },
  lambdaGbSeconds: { value: 0.0000133334, unit: "per GB-second, arm64", source: priceList },
  tableWrites: { value: 0.625, unit: "per million write units", source: "AWS Pricing Calculator, 2026-08: on-demand" },
  tableReads: { value: 0.125, unit: "per million read units", source: "AWS Pricing Calculator, 2026-08: on-demand" },
  tableStorage: { value: 0.25, unit: "per GB-month", source: "AWS Pricing Calculator, 2026-08" },
  tableBackup: { value: 0.2, unit: "per GB-month", source: "DynamoDB pricing page: point-in-time recovery; unchecked" },
  objectWrites: {
    value: 5.0,
    unit: "per million PUT and POST requests",
    source: "S3 pricing page: Standard; unchecked",
  },
  objectReads: {
    value: 0.4,
    unit: "per million GET and HEAD requests",
    source: "S3 pricing page: Standard; unchecked",
  },
  objectStorage: { value: 0.023, unit: "per GB-month", source: "S3 pricing page: Standard, first 50 TB; unchecked" },
  queueRequests: { value: 0.4, unit: "per million requests of 64 KB", source: "SQS pricing page: standard queues" },
  pollerHours: { value: 0.00925, unit: "per provisioned poller and hour", source: priceList },
  schedules: { value: 1.0, unit: "per million invocations", source: "EventBridge pricing page: Scheduler" },
  events: {
    value: 1.0,
    unit: "per million custom events of 64 KB",
    source: "EventBridge pricing page: PutEvents; unchecked",
  },
  channelMessages: {
    value: 1.0,
    unit: "per million WebSocket messages of 32 KB",
    source: "API Gateway pricing page: WebSocket APIs; unchecked",
  },
  channelMinutes: {
    value: 0.25,
    unit: "per million minutes of connections",
    source: "API Gateway pricing page: WebSocket APIs; unchecked",
  },
  fargateCpuHours: {
    value: 0.03238,
    unit: "per CPU and hour, arm64",
    source: "Fargate pricing page: Linux on ARM; unchecked",
  },
  fargateGbHours: {
    value: 0.00356,
    unit: "per GB and hour, arm64",
    source: "Fargate pricing page: Linux on ARM; unchecked",
  },
  publicAddressHours: {
    value: 0.005,
    unit: "per public IPv4 address and hour",
    source: "VPC pricing page: public IPv4 addresses; unchecked",
  },
  logs: { value: 0.5, unit: "per GB ingested", source: "CloudWatch pricing page; unchecked" },
  requestLogs: {
    value: 0.25,
    unit: "per GB ingested, class Infrequent Access",
    source: "CloudWatch pricing page: half of the standard class; unchecked",
  },
  alarms: { value: 0.1, unit: "per metric of an alarm and month", source: "CloudWatch pricing page; unchecked" },
  dashboards: { value: 3.0, unit: "per dashboard and month", source: "CloudWatch pricing page; unchecked" },
  metrics: { value: 0.3, unit: "per custom metric and month", source: "CloudWatch pricing page; unchecked" },
  stepTransitions: {
    value: 25.0,
    unit: "per million state transitions",
    source: "Step Functions pricing page: Standard",
  },
  expressRequests: { value: 1.0, unit: "per million requests", source: "Step Functions pricing page: Express" },
  expressGbSeconds: { value: 0.00001667, unit: "per GB-second", source: "Step Functions pricing page: Express" },
  durableOperations: { value: 8.0, unit: "per million operations", source: "Lambda pricing page: durable functions" },
  durableWritten: { value: 0.25, unit: "per GB written", source: "Lambda pricing page: durable functions" },
  durableStorage: { value: 0.15, unit: "per GB-month", source: "Lambda pricing page: durable functions" },
} as const satisfies Record<string, Figure>;

export type PriceName = keyof typeof prices;
export type Prices = Readonly<Record<PriceName, number>>;

const esm = "Lambda developer guide: scaling of SQS event source mappings";
const lambdaQuotas = "Lambda developer guide: quotas";
const stepQuotas = "Step Functions developer guide: quotas, large Regions";

/** Default limits of AWS, without increases on request. */
export const limits = {
  eventSourceStart: { value: 5, unit: "concurrent invocations from idle", source: esm },
  eventSourceGrowth: { value: 300, unit: "more concurrent invocations per minute", source: esm },
  eventSourceMost: { value: 1_250, unit: "concurrent invocations", source: esm },
  pollerInvocations: { value: 10, unit: "concurrent invocations per provisioned poller", source: esm },
  pollerPolls: { value: 10, unit: "polls per second and provisioned poller", source: esm },
  pollerGrowth: { value: 1_000, unit: "more concurrent invocations per minute, provisioned", source: esm },
  accountConcurrency: { value: 1_000, unit: "concurrent invocations in the account and Region", source: lambdaQuotas },
  newEnvironments: { value: 1_000, unit: "new environments per 10 s and function", source: lambdaQuotas },
  inFlight: { value: 120_000, unit: "messages in flight per queue", source: "SQS developer guide: quotas" },
  attemptSeconds: { value: 840, unit: "s, longest attempt", source: `${lambdaQuotas}: 900 s, less a margin` },
  batch: { value: 10, unit: "messages per batch without a batching window", source: esm },
  sendBatch: { value: 10, unit: "messages per call", source: "SQS API reference: SendMessageBatch" },
  delaySeconds: { value: 900, unit: "s, maximum delay", source: "SQS API reference: SendMessage" },
  partitionWrites: {
    value: 1_000,
    unit: "write units per second and partition",
    source: "DynamoDB developer guide: quotas",
  },
  tableStart: {
    value: 4_000,
    unit: "write units per second of a new table; later twice its highest load",
    source: "DynamoDB developer guide: on-demand capacity",
  },
  createSchedules: {
    value: 5_000,
    unit: "schedules created per second",
    source: "EventBridge Scheduler user guide: quotas",
  },
  firings: { value: 1_000, unit: "invocations per second", source: "EventBridge Scheduler user guide: quotas" },
  schedules: { value: 10_000_000, unit: "schedules at once", source: "EventBridge Scheduler user guide: quotas" },
  apiRequests: {
    value: 10_000,
    unit: "requests per second of the account",
    source: "API Gateway developer guide: quotas",
  },
  stepStarts: { value: 300, unit: "starts per second, Standard", source: stepQuotas },
  stepStartBurst: { value: 1_300, unit: "starts at once, Standard", source: stepQuotas },
  stepTransitions: { value: 5_000, unit: "state transitions per second, Standard", source: stepQuotas },
  expressStarts: { value: 6_000, unit: "starts per second, Express", source: stepQuotas },
  expressSeconds: { value: 300, unit: "s, maximum execution time, Express", source: stepQuotas },
  durableStarts: { value: 300, unit: "starts per second", source: `${lambdaQuotas}, durable functions` },
} as const satisfies Record<string, Figure>;

/** Empty polls of one idle event source: five pollers, each with one poll in 20 s. */
export const idlePolls = { pollers: 5, secondsPerPoll: 20 } as const;

/** Hours and seconds of a month, as AWS counts them. */
export const hoursPerMonth = 730;
export const secondsPerMonth = hoursPerMonth * 3_600;
