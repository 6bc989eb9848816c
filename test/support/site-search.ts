import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { miniSearch, type SearchedSection, searched } from "../../bin/site-search.ts";
import { groupsIn, type Page, type Section, sectionsOf } from "../../src/tools/cli/docs-pages.ts";

/*
 * The index of the site's search box, built without the site: VitePress cuts pages into the same sections, and has the same options.
 */

/** The part that is used of MiniSearch, the library of VitePress's search. */
interface Index {
  addAll(sections: readonly SearchedSection[]): void;
  search(words: string): { id: string }[];
}

type IndexClass = new (options: object) => Index;

const MiniSearch = createRequire(import.meta.url)("minisearch") as IndexClass;

/** Text without the marks of Markdown. */
const plain = (markdown: string): string =>
  markdown
    .replaceAll(/^ *```.*$/gm, "")
    .replaceAll(/!\[[^\]]*\]\([^)]*\)|<[^>]*>/g, "")
    .replaceAll(/\[([^\]]+)\]\([^()]*\)/g, "$1")
    .replaceAll(/[`*|]/g, " ");

const folder = "docs/";
const pages = groupsIn(folder).flatMap(({ pages }) => pages);
const textOf = ({ page }: Page): string => readFileSync(`${folder}${page}.md`, "utf8");

/** The sections of all pages for users. */
export const sections: readonly Section[] = pages.flatMap((page) => sectionsOf(page, textOf(page)));

/** A page, or a section of one: `errors`, `errors#exponential-backoff`. */
export const nameOf = ({ page, anchor }: Section): string => (anchor === "" ? page.page : `${page.page}#${anchor}`);

/** The sections of a page as the site's index has them. */
function searchedSections(page: Page): SearchedSection[] {
  let above: string[] = [];
  return sectionsOf(page, searched(page, textOf(page))).map((section) => {
    const title = plain(section.heading).trim();
    const titles = above.slice(0, section.level - 1).filter(Boolean);
    above = [...above.slice(0, section.level - 1), title];
    return { id: `/${nameOf(section)}`, title, titles, text: plain(section.text) };
  });
}

/** Returns a search as the box on the site does it: the names of sections, best first. */
export function siteSearch(): (words: string) => string[] {
  const index = new MiniSearch({ ...miniSearch.options, searchOptions: miniSearch.searchOptions });
  index.addAll(pages.flatMap(searchedSections));
  return (words) => index.search(words).map(({ id }) => id.slice(1));
}
