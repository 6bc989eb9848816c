import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { ILayerVersion } from "aws-cdk-lib/aws-lambda";
import type { InstrumentationOptions } from "./instrumentation.ts";
import type { NetworkOptions } from "./network.ts";
import type { TaskSecrets } from "./task-secrets.ts";

/** Options for what handlers need beside their code. Only the workers get it: no other function runs handlers. */
export interface HandlerOptions extends NetworkOptions {
  /**
   * Values of handlers' environment variables in this deployment, such as the name of a bucket. `environment.ts` in the
   * tasks folder declares the names, so that local workers have them too.
   * @default - the values in `environment.ts`
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Places of handlers' secrets in this deployment: `{ STRIPE_KEY: "prod/stripe" }`. A worker reads them before its
   * first attempt, and again when they are older than five minutes, into `process.env`. `environment.ts` in the tasks
   * folder declares the names.
   * @default - the places in `environment.ts`
   */
  readonly secrets?: TaskSecrets;
  /**
   * Layers of all workers, such as a native library. A tier may have more: `tiers.low.layers`.
   * @default - none
   */
  readonly layers?: readonly ILayerVersion[];
  /**
   * Monitoring of a vendor, such as Datadog, New Relic, Sentry or Dynatrace: its layers, and its way into the process.
   * @default - none
   */
  readonly instrumentation?: InstrumentationOptions;
  /**
   * Permissions of handlers that no grant of the CDK has. See also `TaskPipeline.grantToTasks` and
   * `TaskPipeline.taskRole`.
   * @default - none
   */
  readonly policies?: readonly PolicyStatement[];
}
