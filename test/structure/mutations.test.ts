import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Mutation } from "../simulation/mutation.ts";
import { mutations } from "../simulation/mutations.ts";

/** Seeds of the mutants, which `npm run test:mutants -- --update` writes. */
const seeds: unknown = JSON.parse(readFileSync("test/simulation/found-seeds.json", "utf8"));

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
  (_, { file, find, replace, also }) => {
    let source = readFileSync(`src/core/${file}`, "utf8");
    for (const one of [{ find, replace }, ...(also === undefined ? [] : [also])]) {
      expect(source.split(one.find), one.find).toHaveLength(2);
      source = source.replace(one.find, () => one.replace);
    }
  },
);
