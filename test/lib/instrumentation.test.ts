import { describe, expect, test } from "vitest";
import type { InstrumentationOptions } from "../../lib/instrumentation.ts";
import { allOf, synthesize } from "./synthesis.ts";

const arnOf = (name: string, account = "464622532012") => `arn:aws:lambda:eu-central-1:${account}:layer:${name}:1`;

/** The functions of a deployment, with their variables, handlers and layers. */
const functionsOf = (instrumentation?: InstrumentationOptions) =>
  allOf(synthesize(instrumentation === undefined ? {} : { instrumentation }).service, "AWS::Lambda::Function").map(
    (fn) => ({
      isWorker: fn.name.includes("Worker"),
      handler: fn.get("Handler"),
      layers: fn.get("Layers"),
      variables: fn.get("Environment.Variables") as Record<string, unknown>,
    }),
  );

/** The vendors' own ways into a function, as their pages have them. */
const vendors: Record<string, [InstrumentationOptions, { handler?: string; variables: Record<string, string> }]> = {
  Datadog: [
    {
      layerArns: [arnOf("Datadog-Node24-x"), arnOf("Datadog-Extension-ARM")],
      handler: {
        name: "/opt/nodejs/node_modules/datadog-lambda-js/handler.handler",
        originalIn: "DD_LAMBDA_HANDLER",
      },
      environment: { DD_SITE: "datadoghq.eu" },
    },
    {
      handler: "/opt/nodejs/node_modules/datadog-lambda-js/handler.handler",
      variables: { DD_LAMBDA_HANDLER: "index.handler", DD_SITE: "datadoghq.eu" },
    },
  ],
  "New Relic": [
    {
      layerArns: [arnOf("NewRelicNodeJS24XARM64", "451483290750")],
      handler: {
        name: "/opt/nodejs/node_modules/newrelic-esm-lambda-wrapper/index.handler",
        originalIn: "NEW_RELIC_LAMBDA_HANDLER",
      },
      environment: { NEW_RELIC_ACCOUNT_ID: "1234567" },
    },
    {
      handler: "/opt/nodejs/node_modules/newrelic-esm-lambda-wrapper/index.handler",
      variables: { NEW_RELIC_LAMBDA_HANDLER: "index.handler", NEW_RELIC_ACCOUNT_ID: "1234567" },
    },
  ],
  Sentry: [
    {
      layerArns: [arnOf("SentryNodeServerlessSDKv10", "943013980633")],
      environment: {
        NODE_OPTIONS: "--import @sentry/aws-serverless/awslambda-auto",
        SENTRY_DSN: "https://1@o1.ingest",
      },
    },
    {
      variables: { NODE_OPTIONS: "--import @sentry/aws-serverless/awslambda-auto", SENTRY_DSN: "https://1@o1.ingest" },
    },
  ],
  Dynatrace: [
    {
      layerArns: [arnOf("Dynatrace_OneAgent_1_329_0_20251111-141604_with_collector_nodejs_arm", "657959507023")],
      execWrapper: "/opt/dynatrace",
      environment: { DT_TENANT: "abc12345" },
    },
    { variables: { AWS_LAMBDA_EXEC_WRAPPER: "/opt/dynatrace", DT_TENANT: "abc12345" } },
  ],
};

describe.each(Object.entries(vendors))("%s", (_, [instrumentation, { handler = "index.handler", variables }]) => {
  const functions = functionsOf(instrumentation);

  test("is on each worker, with its way into the process", () => {
    const workers = functions.filter(({ isWorker }) => isWorker);
    expect(workers).toHaveLength(4);
    for (const worker of workers) {
      expect(worker).toMatchObject({ handler, layers: instrumentation.layerArns });
      expect(worker.variables).toMatchObject(variables);
    }
  });

  test("is on no other function", () => {
    expect(functions.filter(({ isWorker }) => !isWorker)).toEqual(functionsOf().filter(({ isWorker }) => !isWorker));
  });
});

test("a worker without a vendor is started by its own handler, without a program of a layer", () => {
  for (const { handler, layers, variables } of functionsOf()) {
    expect([handler, layers, variables.AWS_LAMBDA_EXEC_WRAPPER]).toEqual(["index.handler", undefined, undefined]);
  }
});

describe("refused at synth", () => {
  const layerArns = [arnOf("Datadog-Node24-x")];
  test.each<[InstrumentationOptions, RegExp]>([
    [{ layerArns: [] }, /instrumentation.layerArns names no layer/],
    [{ layerArns: ["Datadog-Node24-x"] }, /instrumentation.layerArns must be the ARN of a layer's version/],
    [
      { layerArns, execWrapper: "datadog_wrapper" },
      /execWrapper must be a program of a layer, such as .* datadog_wrapper/,
    ],
    [{ layerArns, handler: { name: "handler", originalIn: "DD_LAMBDA_HANDLER" } }, /handler.name must be a file and/],
    [{ layerArns, handler: { name: "a.b", originalIn: "_HANDLER" } }, /the variable "_HANDLER"/],
    [{ layerArns, environment: { AWS_REGION: "eu-central-1" } }, /the variable "AWS_REGION"/],
    [{ layerArns, environment: { OFFLOAD_TABLE: "mine" } }, /the variable "OFFLOAD_TABLE"/],
    [{ layerArns, environment: { DD_TAGS: "x".repeat(2_000) } }, /at most 2000 fit beside Offload's own/],
    [{ layerArns: Array.from({ length: 6 }, () => arnOf("a")) }, /6 layers, .* Lambda allows 5/],
    [{ layerArns, wrapper: "/opt/dynatrace" } as never, /instrumentation/],
  ])("%j", (instrumentation, message) => {
    expect(() => synthesize({ instrumentation })).toThrow(message);
  });

  test("a second program that starts the process", () => {
    const tracing = { layerArn: arnOf("AWSOpenTelemetryDistroJs", "615299751070") };
    const instrumentation = { layerArns, execWrapper: "/opt/dynatrace" };
    expect(() => synthesize({ tracing, instrumentation })).toThrow(/both start the workers' process/);
    expect(() => synthesize({ tracing, instrumentation: { layerArns } })).not.toThrow();
  });

  test("a variable that tasks/environment.ts has, too", () => {
    const instrumentation = { layerArns, environment: { DD_SITE: "datadoghq.eu" } };
    expect(() => synthesize({ instrumentation, environment: { DD_SITE: "datadoghq.com" } })).toThrow(
      /instrumentation and tasks\/environment.ts both have DD_SITE/,
    );
  });
});
