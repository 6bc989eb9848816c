import { rmSync } from "node:fs";
import { App, Stack } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { Grant, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Code, Function as LambdaFunction, RecursiveLoop, Runtime } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { describe, expect, test } from "vitest";
import { addChecks } from "../../lib/checks.ts";
import type { TaskPipeline } from "../../lib/task-pipeline.ts";
import { pipelineOf } from "../support/pipeline-of.ts";
import {
  allOf,
  echo,
  inService,
  type Resource,
  resources,
  type Synthesis,
  stage,
  withoutBundles,
} from "./synthesis.ts";

const functionIn = (scope: Construct) =>
  new LambdaFunction(scope, "Shop", {
    runtime: Runtime.NODEJS_22_X,
    handler: "index.handler",
    code: Code.fromInline("exports.handler = async () => {};"),
  });

/** A pipeline, after something was done with it; and the stack of a shop. */
function synthesized(use: (pipeline: TaskPipeline, shop: Stack) => void, checks = false) {
  const app = new App({ context: withoutBundles, builtinCloudFormationValidation: false });
  if (checks) addChecks(app);
  const pipeline = pipelineOf(app, { types: [echo] });
  const shop = new Stack(app, "Shop");
  use(pipeline, shop);
  try {
    app.synth();
    const { data, service } = pipeline;
    return {
      ...{ pipeline, data: Template.fromStack(data), service: Template.fromStack(service) },
      shop: Template.fromStack(shop),
    };
  } finally {
    rmSync(app.outdir, { recursive: true });
  }
}

/** Actions and resources of a policy, with references as names, without the function's own log. */
const allowed = (synthesis: Synthesis, policy: Resource | undefined) =>
  policy?.statements
    .map(({ Action, Resource, Condition }) => ({
      actions: [Action].flat(),
      on: [Resource]
        .flat()
        .map((value) => inService(synthesis, value))
        .sort(),
      ...(Condition && { Condition }),
    }))
    .filter(({ on }) => !on.includes("Submit/Logs.Arn"));

const shopPolicy = (template: Template) => allOf(template, "AWS::IAM::Policy")[0];
const submitPolicy = resources(stage("dev").service, "AWS::IAM::Policy")("Submit/Role/DefaultPolicy");

/** The variables of a function, with references as names. */
const environmentIn = (synthesis: Synthesis, fn: Resource | undefined) =>
  Object.fromEntries(
    Object.entries(fn?.get("Environment.Variables") ?? {}).map(([name, value]) => [name, inService(synthesis, value)]),
  );

describe("a function in another stack", () => {
  const synthesis = synthesized((pipeline, shop) => pipeline.grantSubmit(functionIn(shop)));
  const inShop = { ...synthesis, service: synthesis.shop };

  test("gets the permissions of the function submit, and no others", () => {
    expect(allowed(inShop, shopPolicy(synthesis.shop))).toEqual(allowed(stage("dev"), submitPolicy));
  });

  test("gets the settings of the function submit, and the deployment's name for its metrics", () => {
    const submit = resources(synthesis.service, "AWS::Lambda::Function")("Submit/Function");
    const { POWERTOOLS_SERVICE_NAME: name, ...settings } = environmentIn(synthesis, submit);
    const [shop] = allOf(synthesis.shop, "AWS::Lambda::Function");
    expect(environmentIn(inShop, shop)).toEqual({ ...settings, OFFLOAD_DEPLOYMENT: name });
  });

  test("its stack reads the names of the data's resources as the service stack does, without outputs", () => {
    expect(Object.keys(synthesis.data.toJSON().Outputs)).toEqual(["TableName"]);
  });

  test("its stack depends on the data only, so that each stack can be deployed in any order after it", () => {
    const text = JSON.stringify(synthesis.shop.toJSON());
    expect(text).toContain("Offload-dev-data");
    expect(text).not.toContain("Offload-dev-service");
  });
});

describe("the published catalogue", () => {
  const synthesis = synthesized((pipeline, shop) => {
    pipeline.grantSubmit(functionIn(shop));
    pipeline.grantSubmit(new Role(shop, "Server", { assumedBy: new ServicePrincipal("ecs-tasks.amazonaws.com") }));
  });
  const [resource, ...others] = allOf(synthesis.service, "Custom::OffloadCatalog");

  test("is published once, however many programs submit", () => {
    expect(resource).toBeDefined();
    expect(others).toEqual([]);
  });

  test("is published when the types have changed, and after the workers are updated", () => {
    expect(resource?.get("Sha256")).toMatch(/^[0-9a-f]{64}$/);
    const template = synthesis.service.toJSON().Resources[resource?.logicalId ?? ""];
    const nameOf = resources(synthesis.service, "AWS::Lambda::Function");
    const workers = ["Critical", "High", "Normal", "Low"].map((tier) => nameOf(`${tier}Worker/Function`).logicalId);
    expect(template.DependsOn).toEqual(expect.arrayContaining(workers));
  });

  test("is written by a function that can write nothing else", () => {
    const policy = resources(synthesis.service, "AWS::IAM::Policy")("Publish/Role/DefaultPolicy");
    const own = policy.statements.filter(({ Action }) => JSON.stringify(Action).includes("dynamodb"));
    expect(own.map(({ Action, Condition }) => ({ Action, Condition }))).toEqual([
      {
        Action: ["dynamodb:DeleteItem", "dynamodb:PutItem"],
        Condition: { "ForAllValues:StringEquals": { "dynamodb:LeadingKeys": ["catalog"] } },
      },
    ]);
  });

  test("is not there without programs that submit directly", () => {
    expect(allOf(stage("dev").service, "Custom::OffloadCatalog")).toEqual([]);
    const names = allOf(stage("dev").service, "AWS::Lambda::Function").map(({ name }) => name);
    expect(names).not.toContain("Publish/Function");
  });
});

test("a role gets the permissions, and its program the settings as a value", () => {
  const synthesis = synthesized((pipeline, shop) => {
    pipeline.grantSubmit(new Role(shop, "Server", { assumedBy: new ServicePrincipal("ecs-tasks.amazonaws.com") }));
    shop.exportValue(shop.toJsonString(pipeline.submitSettings), { name: "SubmitSettings" });
  });
  const inShop = { ...synthesis, service: synthesis.shop };
  expect(allowed(inShop, shopPolicy(synthesis.shop))).toEqual(allowed(stage("dev"), submitPolicy));
  const [output] = Object.values(synthesis.shop.findOutputs("*"));
  const settings = JSON.parse(inService(inShop, output?.Value));
  expect(settings).toMatchObject({ OFFLOAD_TABLE: "Table", OFFLOAD_DEPLOYMENT: "Offload-dev" });
});

test.each(["service", "data"] as const)("a function in the pipeline's %s stack makes no circle", (name) => {
  const synthesis = synthesized((pipeline) => pipeline.grantSubmit(functionIn(pipeline[name])));
  const shop = resources(synthesis[name], "AWS::Lambda::Function")("Shop");
  expect(shop.get("Environment.Variables.OFFLOAD_DEPLOYMENT")).toBe("Offload-dev");
});

test("the checks of a deployment find nothing in what it adds", () => {
  const publishing = () => synthesized((pipeline) => void pipeline.submitSettings, true);
  expect(publishing).not.toThrow();
});

describe("a function that submits, and that tasks invoke", () => {
  const submits = (pipeline: TaskPipeline, fn: LambdaFunction) => pipeline.grantSubmit(fn);
  const isInvoked = (pipeline: TaskPipeline, fn: LambdaFunction) => fn.grantInvoke(pipeline.taskRole);
  type Granting = (pipeline: TaskPipeline, fn: LambdaFunction) => unknown;

  /** The warnings of a function after grants. */
  function warningsAfter(grants: readonly Granting[], recursiveLoop?: RecursiveLoop): string[] {
    const app = new App({ context: withoutBundles, builtinCloudFormationValidation: false });
    const pipeline = pipelineOf(app, { types: [echo] });
    const shop = new Stack(app, "Shop");
    const fn = new LambdaFunction(shop, "Next", {
      ...{ runtime: Runtime.NODEJS_24_X, handler: "index.handler", code: Code.fromInline("exports.handler = 1;") },
      ...(recursiveLoop !== undefined && { recursiveLoop }),
    });
    for (const grant of grants) grant(pipeline, fn);
    const found = Annotations.fromStack(shop).findWarning("*", Match.anyValue());
    rmSync(app.outdir, { recursive: true });
    return found.map(({ entry }) => String(entry.data));
  }

  test.each<[string, Granting[]]>([
    ["the submit first", [submits, isInvoked]],
    ["the invocation first", [isInvoked, submits]],
    ["by an alias", [(pipeline, fn) => pipeline.grantSubmit(fn.addAlias("live")), isInvoked]],
    ["twice", [submits, isInvoked, submits, isInvoked]],
  ])("has one warning that AWS ends it after 16 rounds: %s", (_, grants) => {
    const warnings = warningsAfter(grants);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /Shop\/Next submits tasks directly.*for the 17th time.*RecursiveLoop.ALLOW.*offload:submit-loop/,
    );
  });

  test.each<[string, Granting[], RecursiveLoop?]>([
    ["only submits", [submits]],
    ["is only invoked", [isInvoked]],
    ["allows loops", [submits, isInvoked], RecursiveLoop.ALLOW],
    [
      "is another one than the tasks invoke",
      [submits, (pipeline, fn) => isInvoked(pipeline, functionIn(Stack.of(fn)))],
    ],
    [
      "is read, and not invoked",
      [
        submits,
        ({ taskRole }, fn) =>
          Grant.addToPrincipal({ actions: ["lambda:GetFunction"], grantee: taskRole, resourceArns: [fn.functionArn] }),
      ],
    ],
  ])("has none where it %s", (_, grants, recursiveLoop) => {
    expect(warningsAfter(grants, recursiveLoop)).toEqual([]);
  });
});
