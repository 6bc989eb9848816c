import { expect, test } from "vitest";
import { title } from "../../lib/per-tier.ts";
import { tiers } from "../../src/core/model/tier.ts";
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
