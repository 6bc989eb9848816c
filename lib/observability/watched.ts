import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import type { PerTier } from "../../src/settings/config.ts";
import type { ContainerWorkers } from "../container-workers.ts";
import type { DataStack } from "../data-stack.ts";
import type { PipelineFunction } from "../function.ts";
import type { PipelineMetrics } from "./metrics.ts";

/** Parts of one deployment that alarms, dashboard and queries use. */
export interface Watched {
  /** The deployment's name. */
  readonly name: string;
  readonly data: DataStack;
  /** All functions, by their names in kebab case: `submit`, `critical-worker`. */
  readonly functions: Readonly<Record<string, PipelineFunction>>;
  readonly workers: PerTier<PipelineFunction>;
  /** Container workers. Undefined: the deployment has none. */
  readonly containers: ContainerWorkers | undefined;
  readonly api: HttpApi;
  /** Log group of the API's access log. */
  readonly accessLog: ILogGroup;
  readonly metrics: PipelineMetrics;
  /** Names of the schedules in code that have an alarm of their own. */
  readonly watchedSchedules: readonly string[];
}
