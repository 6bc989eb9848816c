import type { Page } from "../src/tools/cli/docs-pages.ts";
import { emptyWords, stemOf, synonyms } from "../src/tools/cli/docs-search.ts";

/*
 * The site's search: what it knows of a page, and how it reads words. `docs/.vitepress/config.mjs` gives both
 * to VitePress, and test/structure/questions.test.ts asks the same index.
 */

/**
 * Returns what the search knows of a page, as Markdown. A page that a tool writes is found by its exports' names only:
 * it would else bury the guides. The words by which people search stand below the page's heading, between two
 * invisible characters.
 */
export function searched(page: Page, markdown: string): string {
  if (page.generated === true) {
    const names = [...markdown.matchAll(/^#{2,4} (.+)$/gm)].map(([, name]) => name);
    return `# ${page.title}\n\n${names.join(", ")}\n`;
  }
  const words = `\u2063${page.title} ${page.words ?? ""}\u2063 ${page.about}`;
  return markdown.replace(/^# .+$/m, (heading) => `${heading}\n\n${words}\n`);
}

/** A section of a page, as VitePress gives it to its index. */
export interface SearchedSection {
  /** Address of the page, with the section's anchor. */
  id: string;
  title: string;
  /** The headings above it. */
  titles: string[];
  text: string;
}

/** VitePress sends it to the browser as text, so its lists are in its text. Null: a word that every text has. */
const processTerm = new Function(
  "word",
  `const lower = word.toLowerCase();
  if (${JSON.stringify([...emptyWords])}.includes(lower)) return null;
  ${stemOf}
  const stem = stemOf(lower);
  return new Map(${JSON.stringify([...synonyms])}).get(stem) ?? stem;`,
) as (word: string) => string | null;

/** Options of MiniSearch. Its functions use only what is inside of them, for the same reason. */
export const miniSearch = {
  options: {
    fields: ["title", "titles", "words", "text"],
    extractField: (section: SearchedSection, field: "id" | "title" | "titles" | "words" | "text") =>
      field === "words" ? section.text.split("\u2063")[1] : section[field],
    processTerm,
  },
  searchOptions: {
    boost: { title: 4, titles: 1, words: 3, text: 2 },
    // A short word that is nearly another one is another one.
    fuzzy: (term: string) => (term.length > 5 ? 0.2 : false),
    prefix: (term: string) => term.length > 3,
    // References have every word many times: the guides are read before them.
    boostDocument: (id: string) =>
      /\/api\//.test(id) ? 0.2 : /\/(?:api-|runbook|performance|emulator)/.test(id) ? 0.6 : 1,
  },
};

/**
 * Runs in the browser: VitePress's search box says that it is a button with a list of options, in which are fields and
 * links. The script makes it a dialog with a list of links, which keyboards and readers of screens reach one by one.
 */
export const searchBoxScript = `{
  const dialog = { role: "dialog", "aria-modal": "true", "aria-label": "Search" };
  const wrong = ["aria-owns", "aria-expanded", "aria-haspopup", "aria-selected", "aria-activedescendant", "aria-autocomplete"];
  new MutationObserver(() => {
    const box = document.querySelector(".VPLocalSearchBox");
    if (!box) return;
    for (const name in dialog) if (box.getAttribute(name) !== dialog[name]) box.setAttribute(name, dialog[name]);
    box.removeAttribute("aria-labelledby");
    for (const part of box.querySelectorAll(".results, .results > li")) part.removeAttribute("role");
    for (const link of box.querySelectorAll(".result")) link.removeAttribute("aria-label");
    for (const part of [box, ...box.querySelectorAll("input, .results, .results > li")])
      for (const name of wrong) part.removeAttribute(name);
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["role", "aria-label", ...wrong] });
}`;
