import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { faultsOf, rules } from "../support/style.ts";

/* The rules of style for users' pages. The lists of exceptions only shrink: who repairs a place lowers its number. */

const exceptions = JSON.parse(readFileSync("test/structure/style-exceptions.json", "utf8")) as Record<
  string,
  Record<string, number>
>;

/** The most exceptions of all rules together. Only ever lower it. */
const most = 5;

describe("users' pages keep the rules of style, but for listed places", () => {
  test.each(Object.keys(rules))("%s", (rule) => {
    const faults = faultsOf(rule);
    const counts = Object.fromEntries(Object.entries(faults).map(([page, places]) => [page, places.length]));
    const listed = exceptions[rule] ?? {};
    const more = Object.entries(faults).filter(([page, places]) => places.length > (listed[page] ?? 0));
    expect(more).toEqual([]);
    // A smaller number than the listed one is to be written into the list.
    expect(counts).toEqual(listed);
  });

  test("the lists only get shorter", () => {
    const all = Object.values(exceptions).flatMap((pages) => Object.values(pages));
    expect(all.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(most);
  });
});

describe("the rules find what breaks them", () => {
  const long = "word ".repeat(26);

  test.each([
    ["sentence of more than 25 words", `${long}.`, 1],
    [
      "sentence of more than 25 words",
      "A short one. `code of many words here` and [a link](to/a/page.md#with-anchor).",
      0,
    ],
    ["paragraph or entry of more than 60 words", "A few words. ".repeat(21), 1],
    ["cell of more than 25 words", `| a | ${long}|`, 1],
    ["cell of more than 25 words", `\`\`\`\n| a | ${long}|\n\`\`\`\n`, 0],
    ["no code in the first 30 lines", "text\n".repeat(31), 1],
    ["a path or script of this repository", "See `test/core/a.test.ts`.", 1],
    ["what nobody has seen", "Nobody has seen it.", 1],
    ["seconds where people think in minutes or days", "It waits for 86,400 s.", 1],
    ["seconds where people think in minutes or days", "It waits for a day (`86400`).", 0],
    ["write or read units outside of costs", "It takes two write units.", 1],
    ["write or read units outside of costs", "## Costs\n\nIt takes two write units.", 0],
    ["odd words", "Some 300 bytes, in place of others.", 1],
  ])("%s: %s", (rule, text, count) => {
    expect(rules[rule]?.("docs/page.md", text)).toHaveLength(count);
  });
});
