import type { HttpApi } from "aws-cdk-lib/aws-apigatewayv2";
import type { ILogGroup } from "aws-cdk-lib/aws-logs";
import type { PerTier } from "../../src/config.ts";
import type { DataStack } from "../data-stack.ts";
import type { PipelineFunction } from "../function.ts";
import type { PipelineMetrics } from "./metrics.ts";

/** What alarms, dashboard and queries look at: the parts of one deployment. */
export interface Watched {
  /** The deployment's name. */
  readonly name: string;
  readonly data: DataStack;
  /** Every function, by its name in kebab case: `submit`, `critical-worker`. */
  readonly functions: Readonly<Record<string, PipelineFunction>>;
  readonly workers: PerTier<PipelineFunction>;
  readonly api: HttpApi;
  /** Where the API writes a line for each request. */
  readonly accessLog: ILogGroup;
  readonly metrics: PipelineMetrics;
}
