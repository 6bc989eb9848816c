import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mutations } from "../simulation/mutations.ts";

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
