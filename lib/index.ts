/**
 * The package's entry `offload/cdk`: the construct, for a CDK app.
 * @module offload/cdk
 */
export type { ThrottleOptions } from "./api.ts";
export type { TierOptions } from "./capacity.ts";
export type { ContainerOptions } from "./containers.ts";
export { directSubmitBundling, type GrantSubmitOptions } from "./direct-submit.ts";
export type { DomainOptions } from "./domain.ts";
export type { ExistingBus } from "./event-bus.ts";
export type { InstrumentationOptions, VendorHandler } from "./instrumentation.ts";
export type { WebhookNetworkOptions } from "./network.ts";
export type { AlarmOptions } from "./observability/alarm-options.ts";
export type { TaskMetricOptions } from "./observability/task-metrics.ts";
export type { TaskPipelineProps } from "./pipeline-props.ts";
export type { ProfileName } from "./profile.ts";
export { TaskPipeline } from "./task-pipeline.ts";
export type { Access } from "./task-role.ts";
export type { TaskSecret, TaskSecrets } from "./task-secrets.ts";
export type { ConsoleClient, JwtOptions, LimitOptions } from "./tenancy.ts";
export type { TracingOptions } from "./tracing.ts";
