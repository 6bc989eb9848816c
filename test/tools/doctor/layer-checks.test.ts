import { expect, test } from "vitest";
import { namedProcessor } from "../../../src/tools/doctor/layer-checks.ts";

const arnOf = (name: string) => `arn:aws:lambda:eu-central-1:123456789012:layer:${name}:7`;

test.each([
  ["aws-otel-nodejs-amd64-ver-1-30-2", "x86_64"],
  ["aws-otel-nodejs-arm64-ver-1-30-2", "arm64"],
  ["Datadog-Extension", "x86_64"],
  ["Datadog-Extension-FIPS", "x86_64"],
  ["Datadog-Extension-ARM", "arm64"],
  ["Datadog-Extension-ARM-FIPS", "arm64"],
  ["NewRelicNodeJS24X", "x86_64"],
  ["NewRelicNodeJS24XARM64", "arm64"],
  ["Dynatrace_OneAgent_1_329_0_20251111-141604_nodejs_x86", "x86_64"],
  ["Dynatrace_OneAgent_1_329_0_20251111-141604_nodejs_arm", "arm64"],
  ["Datadog-Node24-x", undefined],
  ["SentryNodeServerlessSDKv10", undefined],
  ["AWSOpenTelemetryDistroJs", undefined],
  ["opentelemetry-nodejs-0_17_0", undefined],
])("the layer %s is for %s, by its name", (name, processor) => {
  expect(namedProcessor(arnOf(name))).toBe(processor);
});
