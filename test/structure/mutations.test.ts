import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Mutation } from "../simulation/mutation.ts";
import { mutations } from "../simulation/mutations.ts";
import { broken } from "../simulation/snippet.ts";

/** Seeds of the mutants, which `npm run test:mutants -- --update` writes. */
const seeds: unknown = JSON.parse(readFileSync("test/mutant-seeds.json", "utf8"));

test("seeds are noted of the simulation's mutants only", () => {
  const names = new Set(mutations.map(({ name }) => name));
  expect(Object.keys(seeds as object).filter((name) => !names.has(name))).toEqual([]);
});

test("each mutant has a seed that found it, or a unit test", () => {
  const isOwned = ({ name, test: file }: Mutation) => file !== undefined || name in (seeds as object);
  expect(mutations.filter((one) => !isOwned(one)).map(({ name }) => name)).toEqual([]);
});

test.each(mutations.map((mutation) => [mutation.name, mutation] as const))(
  "the simulation's mutation fits its file: %s",
  (_, mutation) => {
    const source = readFileSync(`src/core/${mutation.file}`, "utf8");
    expect(broken(source, mutation)).not.toBe(source);
  },
);

const inFunction = { name: "one", file: "one.ts", in: "second", find: "return a + b;", replace: "return a;" };

test("a mutation is found in its function, whatever its spaces and comments", () => {
  const source = "function first() { return a + b; }\nconst second = () => {\n  // Why.\n  return a +\n    b;\n};";
  expect(broken(source, inFunction)).toBe(
    "function first() { return a + b; }\nconst second = () => {\n  // Why.\n  return a;\n};",
  );
});

test.each([
  ["is not there", "function second() { return b; }", "0 times"],
  ["is there twice", "function second() { if (c) return a + b; return a + b; }", "2 times"],
  ["has lost its function", "function third() { return a + b; }", "no function second"],
])("a mutation whose snippet %s is out of date", (_, source, words) => {
  expect(() => broken(source, inFunction)).toThrow(words);
});
