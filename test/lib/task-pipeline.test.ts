import { rmSync } from "node:fs";
import { App, CfnOutput, CfnResource } from "aws-cdk-lib";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { TaskPipeline } from "offload/cdk";
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

describe("the template that is written", () => {
  /** The templates of an app. Without validation no check has made them before. */
  function written(skipValidation: boolean, change: (pipeline: TaskPipeline) => void = () => {}) {
    const app = new App({ context: { "aws:cdk:bundling-stacks": [] }, builtinCloudFormationValidation: false });
    const pipeline = new TaskPipeline(app, "Offload", { push: true });
    // After the pipeline's own checks: validations run from the leaves to the root.
    app.node.addValidation({
      validate: () => {
        change(pipeline);
        return [];
      },
    });
    try {
      return app.synth({ skipValidation }).stacks.map(({ template }) => template);
    } finally {
      rmSync(app.outdir, { recursive: true });
    }
  }

  test("is the one that the checks have made, with what the synthesizer adds to it", () => {
    const [checked, unchecked] = [written(false), written(true)];
    expect(JSON.stringify(checked)).toBe(JSON.stringify(unchecked));
    expect(checked).toMatchObject([1, 2].map(() => ({ Parameters: { BootstrapVersion: {} } })));
  });

  test.each([
    ["at the top of a stack", ({ service }: TaskPipeline) => void new CfnOutput(service, "Late", { value: "late" })],
    [
      "below another construct",
      ({ service }: TaskPipeline) =>
        void new CfnResource(service.node.children[0] as CfnResource, "Late", { type: "A::B::C" }),
    ],
  ])("has what is added after the checks %s", (_, change) => {
    expect(JSON.stringify(written(false, change))).toContain("Late");
  });
});
