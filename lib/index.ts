/**
 * The package's entry `offload/cdk`: the construct, for a CDK app.
 * @module offload/cdk
 */
export type { ThrottleOptions } from "./api.ts";
export type { TierOptions } from "./capacity.ts";
export type { AlarmOptions } from "./observability/alarm-options.ts";
export { TaskPipeline, type TaskPipelineProps } from "./task-pipeline.ts";
export type { JwtOptions, LimitOptions } from "./tenancy.ts";
export type { TracingOptions } from "./tracing.ts";
