import { fullDiff, ResourceImpact } from "@aws-cdk/cloudformation-diff";
import { describe, expect, test } from "vitest";
import { title } from "../../lib/per-tier.ts";
import { tiers } from "../../src/core/model/words.ts";
import {
  deployments,
  type ResourceJson,
  readReleased,
  type TemplateJson,
  templatesOf,
} from "./deployed/deployments.ts";
import { allOf, type Resource, stage } from "./synthesis.ts";

const functions = allOf(stage("dev").service, "AWS::Lambda::Function");

const functionOf = (name: string): Resource => {
  const found = functions.find((one) => one.name === `${name}/Function`);
  if (found === undefined) throw new Error(`there is no function ${name}`);
  return found;
};

const waitsFor = ({ json }: Resource): string[] => (json as { DependsOn?: string[] }).DependsOn ?? [];

test.each(["Submit", "Control", "Fire"])("%s is replaced after every worker", (name) => {
  const workers = tiers.map((tier) => functionOf(`${title(tier)}Worker`).logicalId);
  expect(waitsFor(functionOf(name))).toEqual(expect.arrayContaining(workers));
});

test("no worker waits for a function that submits", () => {
  const submitters = ["Submit", "Control", "Fire"].map((name) => functionOf(name).logicalId);
  for (const tier of tiers) {
    expect(waitsFor(functionOf(`${title(tier)}Worker`)).filter((id) => submitters.includes(id))).toEqual([]);
  }
});

/** Other code of containers is another revision of the same family, which CloudFormation calls a replacement. */
const isRevision = (before?: ResourceJson, after?: ResourceJson): boolean =>
  before?.Type === "AWS::ECS::TaskDefinition" && before.Properties?.Family === after?.Properties?.Family;

/** What CloudFormation would do to the resources of a stack besides updates in place. */
function losses(before: TemplateJson, after: TemplateJson): string[] {
  const lost: string[] = [];
  fullDiff(before, after).resources.forEachDifference((id, change) => {
    const { changeImpact, resourceType } = change;
    const harmless = [ResourceImpact.WILL_CREATE, ResourceImpact.WILL_UPDATE, ResourceImpact.NO_CHANGE];
    if (isRevision(before.Resources[id], after.Resources[id])) return;
    if (!harmless.includes(changeImpact)) lost.push(`${id} (${resourceType}): ${changeImpact}`);
  });
  return lost;
}

/**
 * The access log before it had a class of its own, which no group can change. Where data is kept its lines stay until
 * their retention ends.
 */
function lostOnPurpose({ Resources }: TemplateJson): string[] {
  const id = "ApiAccessLog713001CC";
  const group = Resources[id];
  if (group === undefined) return [];
  const impact = group.DeletionPolicy === "Delete" ? ResourceImpact.WILL_DESTROY : ResourceImpact.WILL_ORPHAN;
  return [`${id} (AWS::Logs::LogGroup): ${impact}`];
}

describe("an upgrade from the last release", () => {
  const released = readReleased();

  test.each(Object.keys(released))("%s: nothing is lost but on purpose, and no stack has another name", (name) => {
    const deployment = deployments[name];
    if (deployment === undefined) throw new Error(`no deployment is named ${name}`);
    const before = released[name] ?? {};
    const after = templatesOf(deployment);
    expect(Object.keys(after)).toEqual(Object.keys(before));
    for (const [stack, template] of Object.entries(before)) {
      expect(losses(template, after[stack] ?? { Resources: {} })).toEqual(lostOnPurpose(template));
    }
  });

  test("a replacement and a loss are found", () => {
    const [before] = Object.values(released.prod ?? {});
    if (before === undefined) throw new Error("nothing was released");
    const { Table, ...rest } = before.Resources;
    const queue = Object.keys(rest).find((id) => id.startsWith("CriticalQueue")) ?? "";
    const renamed = { ...rest[queue], Properties: { ...rest[queue]?.Properties, QueueName: "another" } };
    const after = { Resources: { ...rest, [queue]: renamed } } as TemplateJson;
    expect(losses(before, after)).toHaveLength(Table === undefined ? 1 : 2);
  });
});
