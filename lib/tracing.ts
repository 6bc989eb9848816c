import { Validations } from "aws-cdk-lib";
import { type ILayerVersion, type Function as LambdaFunction, LayerVersion } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { checkWrapper } from "./instrumentation.ts";
import { checkLayerArn } from "./layer-arn.ts";
import { settingError } from "./setting-error.ts";

/** Destination of the functions' spans. Absent: no tracing, and the functions load no code for it. */
export interface TracingOptions {
  /**
   * ARN of a version of a layer of OpenTelemetry for JavaScript in the deployment's Region. AWS's layer
   * `AWSOpenTelemetryDistroJs` (ARNs: https://aws-otel.github.io/docs/getting-started/lambda) sends traces to X-Ray,
   * which charges for each trace. The community's layer `opentelemetry-nodejs-...` sends them where `environment` says.
   */
  readonly layerArn: string;
  /**
   * Program of the layer that starts each function's process: `AWS_LAMBDA_EXEC_WRAPPER`. A function whose layer lacks
   * the program does not start. Needed for a layer with a name of your own.
   * @default - of a known layer: `/opt/otel-instrument` for `AWSOpenTelemetryDistroJs`, else `/opt/otel-handler`
   */
  readonly execWrapper?: string;
  /**
   * Variables of OpenTelemetry for all functions, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
   * @default - none
   */
  readonly environment?: Readonly<Record<string, string>>;
}

/** The layers' programs, by their names: those of AWS, AWS's older ones, those of the community. */
const wrappers: readonly [RegExp, string][] = [
  [/^AWSOpenTelemetryDistroJs$/, "/opt/otel-instrument"],
  [/^(aws-otel-nodejs|opentelemetry-nodejs)-/, "/opt/otel-handler"],
];

/** The community's layer brings no collector, to which it sends by default. */
const needsEndpoint = /^opentelemetry-nodejs-/;
const endpoints = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/** @throws TypeError for a layer that is none, or whose program is not known, and for variables of others */
export function checkTracing({ layerArn, execWrapper, environment = {} }: TracingOptions): void {
  const name = checkLayerArn("tracing.layerArn", layerArn);
  if (execWrapper !== undefined) checkWrapper("tracing.execWrapper", execWrapper);
  else if (name !== undefined && wrapperOf(name) === undefined) {
    throw settingError(
      `the layer ${name} of tracing.layerArn is not known; known are AWSOpenTelemetryDistroJs, aws-otel-nodejs-... and opentelemetry-nodejs-.... ` +
        "Name the program of your layer that starts the process in tracing.execWrapper; a layer of another vendor belongs into instrumentation.layerArns",
    );
  }
  const foreign = Object.keys(environment).filter((variable) => !/^OTEL_[A-Z0-9_]+$/.test(variable));
  if (foreign.length > 0) {
    throw settingError(`tracing.environment may have variables that start with OTEL_, got ${foreign.join(", ")}`);
  }
  if (name !== undefined && needsEndpoint.test(name) && !endpoints.some((one) => one in environment)) {
    throw settingError(
      `the layer ${name} of tracing.layerArn sends spans to a collector in the function, and no function has one: set ${endpoints[0]} in tracing.environment`,
    );
  }
}

const wrapperOf = (layer: string): string | undefined => wrappers.find(([name]) => name.test(layer))?.[1];

/** The layer that sends spans to X-Ray. With active tracing the CDK adds the permissions for X-Ray. */
export const tracingLayer = (scope: Construct, { layerArn }: TracingOptions): ILayerVersion =>
  LayerVersion.fromLayerVersionArn(scope, "Tracing", layerArn);

/** Environment variables for tracing. Application Signals is off: it costs extra and needs more permissions. */
export function tracingVariables({ layerArn, execWrapper, environment }: TracingOptions): Record<string, string> {
  const layer = checkLayerArn("tracing.layerArn", layerArn) ?? "AWSOpenTelemetryDistroJs";
  return {
    OTEL_AWS_APPLICATION_SIGNALS_ENABLED: "false",
    ...environment,
    OFFLOAD_TRACING: "1",
    AWS_LAMBDA_EXEC_WRAPPER: execWrapper ?? wrapperOf(layer) ?? "/opt/otel-instrument",
  };
}

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
