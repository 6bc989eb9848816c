import { type App, Aws, Stack, Stage } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Construct } from "constructs";
import { describe, expect, test } from "vitest";
import type { TaskPipelineProps } from "../../lib/pipeline-props.ts";
import type { TaskPipeline } from "../../lib/task-pipeline.ts";
import { pipelineOf } from "../support/pipeline-of.ts";
import { newApp } from "./apps.ts";
import { allOf, echo } from "./synthesis.ts";

const pipelineIn = (scope: Construct, props: TaskPipelineProps = {}): TaskPipeline =>
  pipelineOf(scope, { types: [echo] }, props);

/**
 * The stacks' templates, without what differs by nature: paths of constructs, which are also the tags of the network's parts, and hashes of
 * code, which are made of paths where nothing is bundled.
 */
function templatesOf({ data, service }: TaskPipeline) {
  const text = JSON.stringify(
    [data, service].map((stack) => Template.fromStack(stack).toJSON()),
    (name, value) => (["Metadata", "Tags"].includes(name) ? undefined : value),
  );
  return JSON.parse(text.replaceAll(/[0-9a-f]{64}\.zip/g, "code.zip"));
}

const idsOf = (pipeline: TaskPipeline): string[] =>
  templatesOf(pipeline).flatMap(({ Resources }: { Resources: object }) => Object.keys(Resources));

const everything: TaskPipelineProps = { containers: {}, push: true, events: true };

describe("a deployed pipeline moves without a replacement", () => {
  const atRoot = templatesOf(pipelineIn(newApp(), everything));

  test.each([
    ["a Stage", (app: App) => new Stage(app, "Prod")],
    ["a construct with the pipeline's id", (app: App) => new Construct(app, "Offload")],
    ["a construct of a stack of a Stage", (app: App) => new Construct(new Stack(new Stage(app, "Eu"), "Shop"), "In")],
  ])("into %s: the templates stay the same", (_, scopeIn) => {
    expect(templatesOf(pipelineIn(scopeIn(newApp()), everything))).toEqual(atRoot);
  });

  test("that an earlier release deployed in a Stage keeps its ids at any place", () => {
    const ids = idsOf(pipelineIn(newApp(), { deployedAt: "Prod/Offload" }));
    expect(idsOf(pipelineIn(new Stage(newApp(), "Test"), { deployedAt: "Prod/Offload" }))).toEqual(ids);
    expect(idsOf(pipelineIn(new Stage(newApp(), "Prod"), { deployedAt: "Prod/Offload" }))).toEqual(ids);
  });
});

describe("names of several deployments in an app", () => {
  const eu = { account: "111111111111", region: "eu-central-1" };

  test.each([
    ["two Stages", (app: App) => [new Stage(app, "Test"), new Stage(app, "Prod")]],
    ["two constructs", (app: App) => [new Construct(app, "A"), new Construct(app, "B")]],
    [
      "two Stages of one place",
      (app: App) => [new Stage(app, "Test", { env: eu }), new Stage(app, "Prod", { env: eu })],
    ],
  ])("the same name in %s is refused with both paths", (_, scopesIn) => {
    const [first, second] = scopesIn(newApp()) as [Construct, Construct];
    pipelineIn(first);
    expect(() => pipelineIn(second)).toThrow(
      `${first.node.id}/Offload and ${second.node.id}/Offload would both be the deployment Offload-dev, with the same stacks`,
    );
  });

  test("another name, stage or account is another deployment", () => {
    const app = newApp();
    const props: TaskPipelineProps[] = [
      {},
      { deploymentName: "Billing" },
      { stage: "prod", alarms: { unheard: true } },
      { env: eu },
      { env: { ...eu, account: "222222222222" } },
    ];
    const made = props.map((one, index) => pipelineIn(new Construct(app, `In${index}`), one));
    expect(made.map(({ data }) => data.stackName)).toEqual([
      ...["Offload-dev-data", "Billing-data", "Offload-prod-data", "Offload-dev-data", "Offload-dev-data"],
    ]);
  });

  test("a dashboard in a second Region is named after it, as an account's dashboards share their names", () => {
    const app = newApp();
    const made = ["eu-central-1", "us-east-1"].map((region) =>
      pipelineIn(new Stage(app, region), { env: { ...eu, region } }),
    );
    const names = made.map(({ service }) =>
      allOf(Template.fromStack(service), "AWS::CloudWatch::Dashboard").map((one) => one.get("DashboardName")),
    );
    expect(names).toEqual([["Offload-dev"], ["Offload-dev-us-east-1"]]);
  });

  test.each(["Off_load", "1st", "", "x".repeat(60)])(
    "the name %j is refused with what is allowed",
    (deploymentName) => {
      expect(() => pipelineIn(newApp(), { deploymentName })).toThrow(
        "expected at most 59 letters, digits and '-', starting with a letter",
      );
    },
  );

  test("a name that only the deployment knows is refused", () => {
    expect(() => pipelineIn(newApp(), { deploymentName: Aws.STACK_NAME })).toThrow(
      "deploymentName must be known at synth",
    );
  });
});

test.each(["Offload-dev-data", "Offload-dev-service"])(
  "a stack of the app that is named %s is refused",
  (stackName) => {
    const app = newApp();
    new Stack(app, "Mine", { stackName });
    pipelineIn(app);
    expect(() => app.synth()).toThrow(`are both the stack ${stackName}: give one another name`);
  },
);

describe("the account and Region", () => {
  const env = { account: "111111111111", region: "eu-central-1" };

  test("are those of the stack around the pipeline", () => {
    const { data, service } = pipelineIn(new Construct(new Stack(newApp(), "Shop", { env }), "Background"));
    expect([data.environment, service.environment]).toEqual(Array(2).fill("aws://111111111111/eu-central-1"));
  });

  test("are its own, if it has any", () => {
    const { data } = pipelineIn(new Stack(newApp(), "Shop", { env }), { env: { ...env, region: "us-east-1" } });
    expect(data.environment).toBe("aws://111111111111/us-east-1");
  });

  test("are unknown in a stack that does not know its own", () => {
    const { data } = pipelineIn(new Stack(newApp(), "Shop"));
    expect(data.environment).toBe("aws://unknown-account/unknown-region");
  });
});
