import { globSync } from "node:fs";
import { expect, test } from "vitest";
import config from "../../vitest.config.ts";
import { importsOf, type Source, sources } from "./sources.ts";

/*
 * A change of a file of the core runs the unit tests that reach it by their imports: `npx vitest related FILE`. What
 * most tests import therefore imports little, and a pipeline of tests takes its parts (`test/support/parts`).
 */

/**
 * The share of the unit test files that reach a file of `src/core`: the middle one, and the one that most reach. Shares
 * are compared, not numbers, so that a new test does not break the law. The ceilings only fall.
 */
const ceilings = { median: 0.33, most: 0.72 };

interface Project {
  test: { name: string; include: string[]; exclude: string[] };
}

/** Imports of types are none when tests run. */
const loadedBy = ({ path, text }: Source): readonly string[] =>
  importsOf({ path, text: text.replaceAll(/^(?:import|export) type [^;]*;/gm, "") });

test("a file of the core is reached by few unit tests", () => {
  const projects = (config as { test: { projects: Project[] } }).test.projects;
  const unit = projects.find(({ test }) => test.name === "unit")?.test;
  const tests = globSync(unit?.include ?? [], { exclude: unit?.exclude ?? [] });
  expect(tests.length).toBeGreaterThan(300);
  const all = sources();
  const arrows = new Map(all.map((source) => [source.path, loadedBy(source)]));
  const reached = new Map(all.flatMap(({ path }) => (path.startsWith("src/core/") ? [[path, 0]] : [])));
  for (const first of tests) {
    const seen = new Set([first]);
    for (const path of seen) for (const next of arrows.get(path) ?? []) seen.add(next);
    for (const path of seen) {
      const count = reached.get(path);
      if (count !== undefined) reached.set(path, count + 1);
    }
  }
  const shares = [...reached.values()].map((count) => count / tests.length).sort((a, b) => a - b);
  expect(shares[shares.length >> 1]).toBeLessThanOrEqual(ceilings.median);
  expect(shares.at(-1)).toBeLessThanOrEqual(ceilings.most);
});
