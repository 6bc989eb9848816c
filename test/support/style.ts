import { readFileSync } from "node:fs";
import { groupsIn } from "../../src/tools/cli/docs-pages.ts";
import { withoutFences } from "./pages.ts";

/*
 * The rules of style for users' pages, as functions that return what breaks them. Prose is what is neither code, table nor heading.
 */

/** A rule: the places of a page that break it. */
export type Rule = (page: string, text: string) => string[];

const wordCount = (text: string): number => text.split(/\s+/).filter((word) => word !== "").length;
const linesOf = (text: string): string[] => withoutFences(text).split("\n");
/** Text of which inline code is one word, and of a link only its words count. */
const readable = (text: string): string => text.replaceAll(/`[^`]*`/g, "C").replaceAll(/\]\([^)]*\)/g, "]");

/** The paragraphs and entries of lists, each as one line. */
function paragraphsOf(text: string): string[] {
  const prose = linesOf(text)
    .filter((line) => !/^(?:\s*\||#)/.test(line))
    .join("\n");
  return prose
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((paragraph) => readable(paragraph).replaceAll(/\s+/g, " ").trim())
    .filter((paragraph) => paragraph !== "" && !/^(?:!\[|<picture>)/.test(paragraph));
}

const sentencesOf = (text: string): string[] =>
  paragraphsOf(text).flatMap((paragraph) => paragraph.split(/(?<=[.!?:](?:\*\*)?)\s+(?=[A-Z0-9*`[])/));

const cellsOf = (text: string): string[] =>
  linesOf(text)
    .filter((line) => line.trimStart().startsWith("|"))
    .flatMap((line) => readable(line).split("|"));

const longerThan =
  (words: number, parts: (text: string) => string[]): Rule =>
  (_, text) =>
    parts(text).filter((part) => wordCount(part) > words);

/** The lines that have a pattern, each once. */
const lineWith =
  (pattern: RegExp, except?: (page: string, heading: string) => boolean): Rule =>
  (page, text) => {
    let heading = "";
    return linesOf(text).filter((line) => {
      if (line.startsWith("#")) heading = line;
      return pattern.test(line) && except?.(page, heading) !== true;
    });
  };

/** Words that a reader has to read twice, or that only this project has. */
const oddWords =
  /\b(?:some [\d,]+|in place of|mend(?:s|ed|ing)?|heed|foremost|whoever|whom|twins?|spare message|successors?|to its end|hears? of)\b/i;

export const rules: Readonly<Record<string, Rule>> = {
  "sentence of more than 25 words": longerThan(25, sentencesOf),
  "paragraph or entry of more than 60 words": longerThan(60, paragraphsOf),
  "cell of more than 25 words": longerThan(25, cellsOf),
  "no code in the first 30 lines": (_, text) =>
    text
      .split("\n")
      .slice(0, 30)
      .some((line) => /^ *```/.test(line))
      ? []
      : ["first 30 lines"],
  "page of more than 1,200 words": (_, text) =>
    wordCount(withoutFences(text)) > 1_200 ? [`${wordCount(withoutFences(text))} words`] : [],
  "a path or script of this repository": lineWith(
    /`(?:test|src|lib)\/\w|npm run (?:test|bench|example)/,
    (page) => page === "docs/performance.md",
  ),
  "a page named in code, without a link": lineWith(/`docs\/[\w-]+\.md`/),
  "what nobody has seen": lineWith(
    /\b[Nn]obody has\b|Not (?:yet )?(?:seen|tested) on a real/,
    (page) => page === "docs/real-accounts.md",
  ),
  "history of the project": lineWith(/\(\S* ?\S* ?\d[^()]* before[^()]*\)|than before|as before\b/),
  "seconds where people think in minutes or days": lineWith(
    /(?<!`)\b(?:840|86,400|31,536,000|604,800|1,209,600|2,592,000|43,200)\b(?!`)/,
  ),
  "write or read units outside of costs": lineWith(
    /(?:write|read) units?/,
    (page, heading) => /cost|price/i.test(heading) || page === "docs/cost.md",
  ),
  "odd words": lineWith(oddWords),
};

/** Long by their nature: references, explanations, and the runbook, of which a reader opens one section. */
const reference = new Set(
  [
    "limits",
    "task-options",
    "cli",
    "doctor",
    "runbook",
    "performance",
    "security",
    "how-waiting-works",
    "cost",
    "scale",
  ].map((page) => `docs/${page}.md`),
);

const isLeftOut = (rule: string, page: string): boolean =>
  reference.has(page) &&
  ["page of more than 1,200 words", "write or read units outside of costs", "no code in the first 30 lines"].includes(
    rule,
  );

/** The pages for users, without those of the HTTP API and of the exports. */
export const styledPages: readonly string[] = [
  "README.md",
  ...groupsIn("docs/")
    .flatMap(({ pages }) => pages.filter(({ page, generated }) => generated !== true && !/^(?:api|api-.*)$/.test(page)))
    .map(({ page }) => `docs/${page}.md`),
];

/** Places that break a rule, by page. Pages that keep it are left out. */
export function faultsOf(rule: string): Record<string, string[]> {
  const found = styledPages
    .filter((page) => !isLeftOut(rule, page))
    .map((page) => [page, rules[rule]?.(page, readFileSync(page, "utf8")) ?? []] as const);
  return Object.fromEntries(found.filter(([, faults]) => faults.length > 0));
}
