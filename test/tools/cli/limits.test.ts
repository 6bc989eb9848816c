import { LambdaClient, type ListFunctionsCommand } from "@aws-sdk/client-lambda";
import { expect, test } from "vitest";
import { deployedLimits } from "../../../src/aws/deployed-limits.ts";
import { parseLimits } from "../../../src/core/limits/parse-limits.ts";
import { limitRows } from "../../../src/tools/cli/limit-commands.ts";

const configured = parseLimits(
  '{"default":{"submits_per_second":100},"tenants":{"acme":{"request_bytes":65536}},"depth":{"low":1000,"high":2000}}',
);
const nothing = { default: {}, depth: {} };

/** The rows by the names of the limits. */
const rowsOf = (...given: Parameters<typeof limitRows>) =>
  Object.fromEntries(limitRows(...given).map(([name = "", ...rest]) => [name, rest]));

test("limits of the deployment's settings are in force where none was set", () => {
  expect(rowsOf(nothing, configured, undefined)).toMatchObject({
    "default submits_per_second": ["100", "setting of the deployment"],
    "default burst": ["as submits_per_second", "setting of the deployment"],
    "default request_bytes": ["none", "no limit"],
    "depth low": ["1000", "setting of the deployment"],
    "depth normal": ["none", "no limit"],
  });
});

test("limits that were set are marked, and win", () => {
  const stored = { default: { submits_per_second: 5, burst: 9 }, depth: { low: null, high: 7 } };
  expect(rowsOf(stored, configured, undefined)).toMatchObject({
    "default submits_per_second": ["5", "set with `limits set`"],
    "default burst": ["9", "set with `limits set`"],
    "depth low": ["none", "set with `limits set`"],
    "depth high": ["7", "set with `limits set`"],
  });
});

test("a tenant has its own limits, and the defaults for the rest", () => {
  const stored = { ...nothing, tenant: { tasks_in_progress: 3 } };
  expect(rowsOf(stored, configured, "acme")).toMatchObject({
    "acme tasks_in_progress": ["3", "set with `limits set`"],
    "acme request_bytes": ["65536", "setting of the deployment"],
    "acme submits_per_second": ["100", "default, setting of the deployment"],
  });
});

test("unknown settings of the deployment are not shown as no limit", () => {
  expect(rowsOf(nothing, undefined, undefined)["depth low"]).toEqual([
    "-",
    "not set; the deployment's own setting is not known",
  ]);
});

test("the settings are those of the function that uses the table", async () => {
  const pages = [
    {
      Functions: [{}, { Environment: { Variables: { OFFLOAD_TABLE: "other", OFFLOAD_LIMITS: "{}" } } }],
      NextMarker: "2",
    },
    { Functions: [{ Environment: { Variables: { OFFLOAD_TABLE: "mine", OFFLOAD_LIMITS: '{"depth":5}' } } }] },
  ];
  const sent: unknown[] = [];
  const lambda = new LambdaClient({ region: "eu-central-1" });
  lambda.send = async (command: ListFunctionsCommand) => {
    sent.push(command.input.Marker);
    return pages[sent.length - 1];
  };
  expect(await deployedLimits("mine", lambda)).toBe('{"depth":5}');
  expect(sent).toEqual([undefined, "2"]);
});
