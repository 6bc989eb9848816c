import { Token, Validations } from "aws-cdk-lib";
import { type ILayerVersion, type Function as LambdaFunction, LayerVersion } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { settingError } from "./setting-error.ts";

/** Destination of the functions' spans. Absent: no tracing, and the functions load no code for it. */
export interface TracingOptions {
  /**
   * ARN of a version of the ADOT layer for JavaScript (`AWSOpenTelemetryDistroJs`) in the deployment's Region, from the
   * list at https://aws-otel.github.io/docs/getting-started/lambda. Traces go to X-Ray, which charges for each trace.
   */
  readonly layerArn: string;
}

const layerPattern = /^arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:layer:[\w-]+:\d+$/;

/** @throws TypeError when `layerArn` is not the ARN of a layer's version */
export function checkTracing({ layerArn }: TracingOptions): void {
  if (Token.isUnresolved(layerArn) || layerPattern.test(layerArn)) return;
  throw settingError(
    `tracing.layerArn must be the ARN of a layer's version, such as arn:aws:lambda:<region>:<account>:layer:<name>:<version>, got ${layerArn}`,
  );
}

/** The layer that sends spans to X-Ray. With active tracing the CDK adds the permissions for X-Ray. */
export const tracingLayer = (scope: Construct, { layerArn }: TracingOptions): ILayerVersion =>
  LayerVersion.fromLayerVersionArn(scope, "Tracing", layerArn);

/** Environment variables for tracing. Application Signals is off: it costs extra and needs more permissions. */
export const tracingEnv = {
  OFFLOAD_TRACING: "1",
  AWS_LAMBDA_EXEC_WRAPPER: "/opt/otel-instrument",
  OTEL_AWS_APPLICATION_SIGNALS_ENABLED: "false",
} as const;

/** Acknowledges cdk-nag's rules about tracing. */
export function acknowledgeTracing(fn: LambdaFunction, isTraced: boolean): void {
  if (isTraced) {
    Validations.of(fn.role ?? fn).acknowledge({
      id: "AwsSolutions-IAM5[Resource::*]",
      reason: "AWS does not support resource-level permissions for xray:PutTraceSegments and xray:PutTelemetryRecords.",
    });
    return;
  }
  Validations.of(fn).acknowledge({
    id: "Serverless-LambdaTracing",
    reason:
      "X-Ray charges for every trace. The property `tracing` turns it on; log lines contain the trace id in any case.",
  });
}
