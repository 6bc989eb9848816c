import { describe, expect, test } from "vitest";
import type { TemplateJson } from "./deployed/deployments.ts";
import { deployments, templatesOf } from "./deployed/deployments.ts";

/*
 * `cdk deploy --hotswap` and `cdk watch` calculate the variables of a function without CloudFormation. What they cannot calculate makes
 * them leave all as it was, with a sentence and exit code 0. In their words, of aws-cdk 2.1148:
 */

/** Attributes that the command line makes of a resource's name. It asks AWS's Cloud Control API for others. */
const known = ["AWS::Lambda::Function.Arn", "AWS::ECS::Service.Name"];

const pseudo = ["AWS::AccountId", "AWS::Region", "AWS::Partition", "AWS::URLSuffix"];

/** Parts of a value that a hotswap cannot calculate. */
function unknownIn(value: unknown, { Resources, Parameters = {} }: TemplateJson): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one) => unknownIn(one, { Resources, Parameters }));
  const [[name = "", given] = []] = Object.entries(value);
  if (name === "Ref") return isKnownRef(String(given), { Resources, Parameters }) ? [] : [`Ref ${given}`];
  if (name === "Fn::GetAtt") {
    const [id = "", attribute] = given as string[];
    const of = `${Resources[id]?.Type}.${attribute}`;
    return known.includes(of) ? [] : [`GetAtt ${of}`];
  }
  if (name === "Fn::Sub") {
    const names = [...String(given).matchAll(/\$\{([^}]+)\}/g)].map(([, one = ""]) => one);
    return names.filter((one) => !isKnownRef(one, { Resources, Parameters })).map((one) => `Sub ${one}`);
  }
  if (name === "Fn::Select" && "Ref" in Object((given as unknown[])[1]))
    return [`Select of the list ${JSON.stringify(given)}`];
  return Object.values(value).flatMap((one) => unknownIn(one, { Resources, Parameters }));
}

/** A parameter is known by its resolved text, which is no list. */
const isKnownRef = (id: string, { Resources, Parameters = {} }: TemplateJson): boolean =>
  pseudo.includes(id) || Resources[id] !== undefined || Parameters[id]?.Type === "AWS::SSM::Parameter::Value<String>";

describe("a hotswap can calculate the variables", () => {
  const deployment = deployments["prod with everything"];
  if (deployment === undefined) throw new Error("there is no deployment with everything");
  const templates = Object.values(templatesOf(deployment));

  const variablesOf = ({ Type, Properties = {} }: TemplateJson["Resources"][string]): unknown[] => {
    if (Type === "AWS::Lambda::Function") return [Properties.Environment];
    return Type === "AWS::ECS::TaskDefinition" ? [Properties.ContainerDefinitions] : [];
  };

  test("of all functions and containers, but of the one that reads its stack's id", () => {
    const refused = templates.flatMap((template) =>
      Object.entries(template.Resources).flatMap(([id, resource]) =>
        variablesOf(resource)
          .flatMap((value) => unknownIn(value, template))
          .map((part) => `${id.replace(/[0-9A-F]{8}$/, "")}: ${part}`),
      ),
    );
    expect(refused).toEqual(["StatusFunction: Ref AWS::StackId"]);
  });

  test("and takes no name for another without the text's resolved value, as no variable reads the first entry", () => {
    expect(JSON.stringify(templates)).not.toContain('{"Fn::Select":[0,{"Fn::Split"');
  });
});
