import { describe, expect, test } from "vitest";
import { searchIn } from "../../src/cli/docs-search.ts";
import { questions } from "../support/questions.ts";
import { nameOf, sections, siteSearch } from "../support/site-search.ts";

/** As many hits as people look at. */
const looked = 5;
const pageOf = (name: string): string => name.replace(/#.*/, "");

test("each answer is a section of a page", () => {
  const names = new Set(sections.map(nameOf));
  expect(questions.flatMap(([, ...answers]) => answers).filter((answer) => !names.has(answer))).toEqual([]);
});

/* A page without an anchor is answered by any of its sections. */
describe("the site's search finds the section among the first five", () => {
  const found = siteSearch();

  test.each(questions)("%s", (words, ...answers) => {
    const hits = found(words).slice(0, looked);
    expect([...hits, ...hits.map(pageOf)].filter((hit) => answers.includes(hit))).not.toEqual([]);
  });
});

describe("`npx offload docs` finds the page among the first five", () => {
  const found = searchIn(sections);

  test.each(questions)("%s", (words, ...answers) => {
    const hits = found(words).slice(0, looked).map(nameOf).map(pageOf);
    expect(hits.filter((hit) => answers.map(pageOf).includes(hit))).not.toEqual([]);
  });
});
