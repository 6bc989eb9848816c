import { describe, expect, test } from "vitest";
import type { TracingOptions } from "../../lib/tracing.ts";
import { allOf, inService, stage, synthesize } from "./synthesis.ts";

const layerArn = "arn:aws:lambda:eu-central-1:615299751070:layer:AWSOpenTelemetryDistroJs:8";
const traced = synthesize({ tracing: { layerArn } });
const plain = stage("dev");

const xray = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"];

/** What a synthesis lets each role do with X-Ray. */
const xrayActions = (synthesis: typeof plain) =>
  allOf(synthesis.service, "AWS::IAM::Policy").map(({ statements }) =>
    statements
      .flatMap(({ Action }) => Action)
      .filter((action) => action.startsWith("xray:"))
      .sort(),
  );

describe.each(allOf(traced.service, "AWS::Lambda::Function"))("function $name, traced", (fn) => {
  test("the function has the layer, and starts by it", () => {
    expect(fn.get("Layers")).toEqual([layerArn]);
    expect(fn.get("Environment.Variables")).toMatchObject({
      AWS_LAMBDA_EXEC_WRAPPER: "/opt/otel-instrument",
      OFFLOAD_TRACING: "1",
      OTEL_AWS_APPLICATION_SIGNALS_ENABLED: "false",
    });
  });

  test("the function begins traces", () => {
    expect(fn.get("TracingConfig")).toEqual({ Mode: "Active" });
  });
});

test("traced functions may send spans to X-Ray, and do nothing else with it", () => {
  const actions = xrayActions(traced);
  expect(actions).toHaveLength(allOf(traced.service, "AWS::Lambda::Function").length);
  expect(new Set(actions.map(String))).toEqual(new Set([String(xray)]));
});

test("tracing allows only X-Ray by a wildcard", () => {
  const open = (synthesis: typeof plain) =>
    allOf(synthesis.service, "AWS::IAM::Policy")
      .flatMap(({ statements }) => statements)
      .filter(({ Resource }) => inService(synthesis, [Resource].flat()[0]) === "*")
      .flatMap(({ Action }) => Action);
  const added = open(traced).filter((action) => !open(plain).includes(action));
  expect([...new Set(added)].sort()).toEqual(xray);
});

describe("without tracing", () => {
  test.each(allOf(plain.service, "AWS::Lambda::Function"))("$name has no layer and makes no traces", (fn) => {
    expect([fn.get("Layers"), fn.get("TracingConfig")]).toEqual([undefined, undefined]);
    expect(
      Object.keys(fn.get("Environment.Variables") ?? {}).filter((name) => /OTEL|TRACING|WRAPPER/.test(name)),
    ).toEqual([]);
  });

  test("no role may use X-Ray", () => {
    expect(xrayActions(plain).flat()).toEqual([]);
  });
});

test.each([
  "",
  "AWSOpenTelemetryDistroJs",
  "arn:aws:lambda:eu-central-1:615299751070:layer:AWSOpenTelemetryDistroJs",
  "arn:aws:lambda:eu-central-1:615299751070:function:x:1",
])("%j is refused as a layer, with the expected format", (given) => {
  expect(() => synthesize({ tracing: { layerArn: given } })).toThrow(
    `arn:aws:lambda:<region>:<account>:layer:<name>:<version>, got ${given}`,
  );
});

describe("the program that starts the functions follows from the layer", () => {
  const arnOf = (name: string) => `arn:aws:lambda:eu-central-1:184161586896:layer:${name}:1`;
  const variablesOf = (tracing: TracingOptions) =>
    allOf(synthesize({ tracing }).service, "AWS::Lambda::Function").map((fn) => fn.get("Environment.Variables"));
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "https://otlp.example.com" };

  test.each([
    ["aws-otel-nodejs-arm64-ver-1-30-2", {}],
    ["opentelemetry-nodejs-0_17_0", environment],
    ["opentelemetry-nodejs-0_17_0", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://otlp.example.com/v1/traces" }],
  ])("%s with %j: /opt/otel-handler", (name, given) => {
    const variables = variablesOf({ layerArn: arnOf(name), environment: given });
    expect(variables.length).toBeGreaterThan(10);
    for (const one of variables) expect(one).toMatchObject({ ...given, AWS_LAMBDA_EXEC_WRAPPER: "/opt/otel-handler" });
  });

  test("a layer with a name of its own needs the name of its program", () => {
    const layerArn = arnOf("our-tracing");
    expect(() => synthesize({ tracing: { layerArn } })).toThrow(
      /the layer our-tracing of tracing.layerArn is not known; known are AWSOpenTelemetryDistroJs, .*tracing.execWrapper/,
    );
    const [variables] = variablesOf({ layerArn, execWrapper: "/opt/start" });
    expect(variables).toMatchObject({ AWS_LAMBDA_EXEC_WRAPPER: "/opt/start" });
  });

  test.each<[TracingOptions, RegExp]>([
    [
      { layerArn: arnOf("AWSOpenTelemetryDistroPython") },
      /AWSOpenTelemetryDistroPython of tracing.layerArn is not known/,
    ],
    [{ layerArn: arnOf("opentelemetry-nodejs-0_17_0") }, /set OTEL_EXPORTER_OTLP_ENDPOINT in tracing.environment/],
    [{ layerArn, execWrapper: "otel-instrument" }, /execWrapper must be a program of a layer, .* got otel-instrument/],
    [{ layerArn, execWrapper: "/opt/../bin/sh " }, /execWrapper must be a program of a layer/],
    [{ layerArn, environment: { DD_SITE: "eu" } }, /variables that start with OTEL_, got DD_SITE/],
  ])("%j is refused", (tracing, message) => {
    expect(() => synthesize({ tracing })).toThrow(message);
  });
});
