import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { describe, expect, test } from "vitest";
import { allOf, stage, synthesize } from "./synthesis.ts";

const prod = stage("prod");
const plain = synthesize();
const year = synthesize({ stage: "prod", alarmEmail: "team@example.com", logRetention: RetentionDays.ONE_YEAR });

test("a pipeline is two stacks, named after the stage", () => {
  const { data, service } = prod.pipeline;
  expect([data.stackName, service.stackName]).toEqual(["Offload-prod-data", "Offload-prod-service"]);
});

test("a pipeline is dev by default", () => {
  expect(plain.pipeline.data.stackName).toBe("Offload-dev-data");
});

test("logs stay with their stage, for the given retention", () => {
  const groups = allOf(year.service, "AWS::Logs::LogGroup");
  const kept = groups.map((group) => [group.get("RetentionInDays"), group.json.DeletionPolicy]);
  expect(kept).toHaveLength(allOf(prod.service, "AWS::Logs::LogGroup").length);
  expect(kept).toEqual(kept.map(() => [365, "RetainExceptOnCreate"]));
});

describe("the name of a stage", () => {
  test.each(["", "Prod", "1st", "a_b", "x".repeat(21)])("the stage %j is refused with what is allowed", (name) => {
    expect(() => synthesize({ stage: name })).toThrow(
      `stage must be 1 to 20 lower case letters, digits and '-', starting with a letter, got ${JSON.stringify(name)}`,
    );
  });
});
