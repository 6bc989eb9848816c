import { Validations } from "aws-cdk-lib";
import { type FunctionOptions, type Function as LambdaFunction, LayerVersion, Tracing } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";

/** Where the functions' spans go. Absent: nowhere, and the functions load nothing for them. */
export interface TracingOptions {
  /**
   * ARN of a version of the ADOT layer for JavaScript (`AWSOpenTelemetryDistroJs`) in the deployment's Region; AWS lists
   * them at https://aws-otel.github.io/docs/getting-started/lambda. Traces go to X-Ray, which charges for each.
   */
  readonly layerArn: string;
}

const layerPattern = /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:layer:[\w-]+:\d+$/;

/** @throws TypeError when the layer's ARN names no version of a layer */
export function checkTracing({ layerArn }: TracingOptions): void {
  if (layerPattern.test(layerArn)) return;
  throw new TypeError(
    `tracing.layerArn must be the ARN of a layer's version, as arn:aws:lambda:<region>:<account>:layer:<name>:<version>, got ${layerArn}`,
  );
}

/** What tracing adds to a function: the layer, active tracing, and the right to hand spans to X-Ray, which CDK adds. */
export const traced = (
  scope: Construct,
  { layerArn }: TracingOptions,
): Pick<FunctionOptions, "layers" | "tracing"> => ({
  layers: [LayerVersion.fromLayerVersionArn(scope, "Tracing", layerArn)],
  tracing: Tracing.ACTIVE,
});

/** The variables of a function that is traced. Application Signals would cost extra, and need more rights. */
export const tracingEnv = {
  OFFLOAD_TRACING: "1",
  AWS_LAMBDA_EXEC_WRAPPER: "/opt/otel-instrument",
  OTEL_AWS_APPLICATION_SIGNALS_ENABLED: "false",
} as const;

/** Says why a function is traced, or is not. */
export function acknowledgeTracing(fn: LambdaFunction, isTraced: boolean): void {
  if (isTraced) {
    Validations.of(fn.role ?? fn).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason: "xray:PutTraceSegments and xray:PutTelemetryRecords, which AWS lets nobody narrow to a resource.",
    });
    return;
  }
  Validations.of(fn).acknowledge({
    id: "Serverless-LambdaTracing",
    reason: "X-Ray charges for every trace; the prop `tracing` turns it on, and log lines carry the trace id anyway.",
  });
}
