import type { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { TaskEnvironment } from "../src/core/environment.ts";

/** Options for what handlers need beside their code. Only the workers get it: no other function runs handlers. */
export interface HandlerOptions {
  /**
   * Declarations of `tasks/environment.ts`: environment variables and secrets of handlers, with values that all deployments
   * share.
   * @default - the names in `environment` and `secrets` are the declarations, and local workers get none of them
   */
  readonly declared?: TaskEnvironment;
  /**
   * Values of handlers' environment variables in this deployment, such as the name of a bucket. They override the values of
   * `declared`.
   * @default - the values of `declared`
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Permissions of handlers that no grant of the CDK has. See also `TaskPipeline.grantToTasks` and `TaskPipeline.taskRole`.
   * @default - none
   */
  readonly policies?: readonly PolicyStatement[];
}
