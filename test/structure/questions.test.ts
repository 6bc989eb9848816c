import { describe, expect, test } from "vitest";
import { searchIn } from "../../src/tools/cli/docs-search.ts";
import { questions } from "../support/questions.ts";
import { nameOf, sections, siteSearch } from "../support/site-search.ts";

/** As many hits as people look at. */
const looked = 5;
const pageOf = (name: string): string => name.replace(/#.*/, "");

test("each answer is a section of a page", () => {
  const names = new Set(sections.map(nameOf));
  expect(questions.flatMap(([, ...answers]) => answers).filter((answer) => !names.has(answer))).toEqual([]);
});

const found = siteSearch();
const foundHere = searchIn(sections);

describe.each([
  ["the site's search", found],
  ["`npx offload docs`", (words: string) => foundHere(words).map(nameOf)],
])("%s finds among the first five", (_, search) => {
  /** Questions without an answer among the first hits; a page is also found by each of its sections. */
  const missed = (of: (name: string) => string): string[] =>
    questions
      .filter(([words, ...answers]) => {
        const hits = search(words).slice(0, looked);
        return ![...hits, ...hits.map(pageOf)].map(of).some((hit) => answers.map(of).includes(hit));
      })
      .map(([words]) => words);

  test("the page, of 48 questions of 50", () => {
    expect(missed(pageOf).slice(questions.length * 0.04)).toEqual([]);
  });

  test("the section, of 45 questions of 50", () => {
    expect(missed((name) => name).slice(questions.length * 0.1)).toEqual([]);
  });
});
