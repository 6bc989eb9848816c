import { Token } from "aws-cdk-lib";
import { type ILayerVersion, LayerVersion } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { checkNames } from "../src/core/task/environment.ts";
import { checkLayerArn } from "./layer-arn.ts";
import { settingError } from "./setting-error.ts";

/** Handler of a vendor's layer, which calls the worker's own handler. */
export interface VendorHandler {
  /** Place of the vendor's handler, such as `/opt/nodejs/node_modules/datadog-lambda-js/handler.handler`. */
  readonly name: string;
  /** Variable in which the vendor reads the name of the worker's own handler, such as `DD_LAMBDA_HANDLER`. */
  readonly originalIn: string;
}

/** Monitoring of a vendor in all worker functions. The vendor's page says which of these options its layers need. */
export interface InstrumentationOptions {
  /** ARNs of the layers' versions for Node.js 24 on arm64, in the deployment's Region. */
  readonly layerArns: readonly string[];
  /**
   * Program of a layer that starts the process: `AWS_LAMBDA_EXEC_WRAPPER`, such as `/opt/dynatrace`.
   * @default - none
   */
  readonly execWrapper?: string;
  /**
   * Handler of a layer in place of the worker's own.
   * @default - the worker's own
   */
  readonly handler?: VendorHandler;
  /**
   * Variables of the vendor, such as `DD_SITE`. Put no keys here: name their secret, if the vendor reads secrets.
   * @default - none
   */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Handler of all functions of Offload. */
export const ownHandler = "index.handler";

const wrapperPattern = /^\/opt\/[\w.-]+(\/[\w.-]+)*$/;
const handlerPattern = /^[\w./@-]+\.[\w$]+$/;

/** @throws TypeError for a program outside of `/opt`, where layers are */
export function checkWrapper(option: string, wrapper: string): void {
  if (Token.isUnresolved(wrapper) || wrapperPattern.test(wrapper)) return;
  throw settingError(`${option} must be a program of a layer, such as /opt/otel-handler, got ${wrapper}`);
}

/** @throws TypeError for options that Lambda would refuse, or with which a worker would not start */
export function checkInstrumentation(
  { layerArns, execWrapper, handler, environment = {} }: InstrumentationOptions,
  isTraced: boolean,
): void {
  if (layerArns.length === 0) throw settingError("instrumentation.layerArns names no layer: leave the option out");
  for (const arn of layerArns) checkLayerArn("instrumentation.layerArns", arn);
  if (execWrapper !== undefined) checkWrapper("instrumentation.execWrapper", execWrapper);
  if (execWrapper !== undefined && isTraced) {
    throw settingError(
      "instrumentation.execWrapper and tracing both start the workers' process by a program of their layer, and a function has one: remove one of them",
    );
  }
  if (handler !== undefined && !handlerPattern.test(handler.name)) {
    throw settingError(
      `instrumentation.handler.name must be a file and an export of it, such as dir/file.handler, got ${handler.name}`,
    );
  }
  checkNames({ ...environment, ...(handler !== undefined && { [handler.originalIn]: ownHandler }) }, {});
}

/** The vendor's layers on a function. */
export const vendorLayers = (scope: Construct, options: InstrumentationOptions | undefined): ILayerVersion[] =>
  (options?.layerArns ?? []).map((arn, at) => LayerVersion.fromLayerVersionArn(scope, `Instrumentation${at + 1}`, arn));

/** The vendor's variables. */
export const vendorVariables = ({
  execWrapper,
  handler,
  environment,
}: InstrumentationOptions): Readonly<Record<string, string>> => ({
  ...environment,
  ...(execWrapper !== undefined && { AWS_LAMBDA_EXEC_WRAPPER: execWrapper }),
  ...(handler !== undefined && { [handler.originalIn]: ownHandler }),
});
