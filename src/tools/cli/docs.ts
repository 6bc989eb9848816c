import { readFileSync } from "node:fs";
import { packageFolder } from "../../installed/installation.ts";
import { forTerminal, type Group, groupsIn, type Page, type Section, sectionsOf, withParts } from "./docs-pages.ts";
import { searchIn } from "./docs-search.ts";
import type { Register } from "./group.ts";
import { CommandFailed, type Terminal } from "./terminal.ts";

const examples = `
The pages are in the package, so this needs no network. They are Markdown: in the folder docs/ of the package.

Examples:
  npx offload docs                             the list of all pages
  npx offload docs rate limit per customer     the best section for these words, and the names of others
  npx offload docs runbook#depth               a section, as the text of an alarm names it
  npx offload docs urn:offload:error:conflict  the page of a problem, by its type
  npx offload docs errors                      a whole page
  npx offload docs errors --path               the path of its file, for an editor or a viewer
`;

/** The most sections that a search names. */
const mostShown = 9;

const given = [
  ["[words...]", "name of a page, page#section, or words to search for"],
  ["--list", "name what the search finds, and print none of it"],
  ["--path", "print the path of the page's file"],
] as const;

/** `offload docs` */
export const register: Register = (group) => {
  const { terminal } = group;
  group.help(examples).does(given, (options, words) => {
    const groups = groupsIn(folder);
    if (words.length === 0) {
      contents(groups, terminal);
      return;
    }
    const pages = groups.flatMap(({ pages }) => pages);
    const [first, ...others] = find(pages, words.join(" "), options.list === true);
    if (options.list) terminal.out(listOf([first, ...others]));
    else if (options.path) terminal.out(`${folder}${first.page.page}.md`);
    else {
      print(first, terminal);
      if (others.length > 0) terminal.note(`\nAlso found:\n${listOf(others)}`);
    }
  });
};

/** The folder of the pages, in the repository and in the package. */
const folder = `${packageFolder}docs/`;

const sectionsIn = (page: Page): Section[] => sectionsOf(page, readFileSync(`${folder}${page.page}.md`, "utf8"));

/**
 * The section that the words name, or the sections that a search for them finds, best first.
 * @throws CommandFailed when there is none
 */
function find(pages: readonly Page[], words: string, searched: boolean): [Section, ...Section[]] {
  const [name = "", anchor = ""] = words
    .replace(/^docs\//, "")
    .replace(/^urn:offload:error:/, "problems/")
    .split("#");
  const page = pages.find((one) => one.page.toLowerCase() === name.replace(/\.md$/, "").toLowerCase());
  const found =
    page !== undefined && !searched
      ? sectionsIn(page).filter((one) => one.anchor === anchor)
      : searchIn(pages.flatMap(sectionsIn))(words);
  const [first, ...others] = found.slice(0, mostShown);
  if (first !== undefined) return [first, ...others];
  const lack = page === undefined ? `no page has "${words}"` : `the page ${page.page} has no section ${anchor}`;
  throw new CommandFailed(`${lack}; \`npx offload docs\` lists all pages`);
}

const nameOf = ({ page, anchor }: Section): string => (anchor === "" ? page.page : `${page.page}#${anchor}`);

function print(section: Section, terminal: Terminal): void {
  const all = sectionsIn(section.page);
  const start = all.findIndex(({ anchor }) => anchor === section.anchor);
  terminal.out(terminal.colour("gray", `offload docs ${nameOf(section)}`));
  for (const line of forTerminal(section.page, withParts(all, start)).trimEnd().split("\n")) {
    terminal.out(/^#+ /.test(line) ? terminal.colour("cyan", line) : line);
  }
}

/** Two columns, whose second one is not cut: it is a sentence. */
function columnsOf(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join("\n");
}

const listOf = (sections: readonly Section[]): string =>
  columnsOf(sections.map((section) => [nameOf(section), section.heading]));

function contents(groups: readonly Group[], terminal: Terminal): void {
  for (const { group, pages } of groups) {
    terminal.out(terminal.colour("cyan", group));
    terminal.out(
      `${columnsOf(pages.filter(({ isPart }) => isPart !== true).map(({ page, about }) => [page, about]))}\n`,
    );
  }
  terminal.out("`npx offload docs PAGE` prints a page; `npx offload docs WORDS` searches in all of them.");
}
