import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { addToPages, copyScript } from "../../bin/site-markdown.ts";
import { miniSearch, searchBoxScript, searched } from "../../bin/site-search.ts";
import { allGroupsIn } from "../../src/tools/cli/docs-pages.ts";

/*
 * The site of the pages: `npm run docs` builds it into docs/.vitepress/dist, `npm run docs:preview` serves it.
 * VitePress runs by npx, so this file imports no package. A link that leads nowhere fails the build. The contents are docs/pages.json,
 * which `npx offload docs` has, too.
 */

const docs = join(import.meta.dirname, "..");
const groups = allGroupsIn(`${docs}/`);

/** The page of a source file, such as `api/README.md`. */
const pages = new Map(
  groups.flatMap(({ maintainers, pages }) => pages.map((page) => [`${page.page}.md`, { ...page, maintainers }])),
);

/** The address of a page on the site: `README` of a folder is its index. */
const addressOf = (page) => `/${page.replace(/(^|\/)README$/, "$1")}`;

const sidebar = groups.map(({ group, pages }) => ({
  text: group,
  items: pages
    .filter(({ isPart }) => isPart !== true)
    .map(({ page, title }) => ({ text: title, link: addressOf(page) })),
}));

/** The file of a page of the site, below `docs`. */
const fileOf = (relativePath) => relativePath.replace(/(^|\/)index\.md$/, "$1README.md");

/** The anchor of a heading, as on GitHub, so that links lead to the same place in both. */
const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** What the search knows of a page, as HTML. Pages of maintainers are left out. */
async function searchText(source, env, markdown) {
  const page = pages.get(fileOf(env.relativePath));
  if (page === undefined || page.maintainers === true) return "";
  return (markdown.renderAsync ?? markdown.render).call(
    markdown,
    searched(page, source),
    Object.assign(env, { isSearch: true }),
  );
}

/** For programs that read: `llms.txt` with all pages, and each page as Markdown beside its HTML. */
function writeTexts({ outDir }) {
  const lines = groups
    .filter(({ maintainers }) => maintainers !== true)
    .flatMap(({ group, pages }) => [
      `\n## ${group}\n`,
      ...pages.map(({ page, title, about }) => `- [${title}](/${page}.md): ${about}`),
    ]);
  writeFileSync(
    join(outDir, "llms.txt"),
    `# Offload\n\n> Runs slow work in the background, in your own AWS account.\n${lines.join("\n")}\n`,
  );
  for (const page of pages.keys()) {
    mkdirSync(dirname(join(outDir, page)), { recursive: true });
    copyFileSync(join(docs, page), join(outDir, page));
  }
}

/**
 * Tables fit the page: code in them breaks, and on a phone each row is a block of its own, so that nothing is cut. A block of code that scrolls has a
 * shadow at the edge where it goes on. Text of code has contrast.
 */
const styles = `
.vp-doc table { display: table; width: 100%; }
:root, .dark { --vp-code-block-color: var(--vp-c-text-1); --vp-code-lang-color: var(--vp-c-text-2); }
.vp-doc :not(pre) > code { white-space: normal; overflow-wrap: anywhere; }
.vp-doc div[class*="language-"] > pre {
  --over: var(--vp-code-block-bg), transparent;
  --shade: rgba(128, 128, 128, .45), transparent;
  background:
    linear-gradient(to right, var(--over)) 0 0 / 40px 100% no-repeat local,
    linear-gradient(to left, var(--over)) 100% 0 / 40px 100% no-repeat local,
    linear-gradient(to right, var(--shade)) 0 0 / 14px 100% no-repeat scroll,
    linear-gradient(to left, var(--shade)) 100% 0 / 14px 100% no-repeat scroll;
}
.vp-doc a.term { color: inherit; font-weight: inherit; text-decoration: underline dotted; }
.page-tools a, .page-tools button { font-size: 14px; color: var(--vp-c-text-2); text-decoration: underline; margin-right: 12px; }
.DocSearch-Button-Keys, .search-keyboard-shortcuts { display: none !important; }
@media (max-width: 640px) {
  .vp-doc table, .vp-doc tbody, .vp-doc tr, .vp-doc td { display: block; width: 100%; }
  .vp-doc thead { display: none; }
  .vp-doc td { border: 0; padding: 4px 12px; overflow-wrap: anywhere; }
  .vp-doc td:first-child { font-weight: 600; }
  .vp-doc td[data-head]:not(:first-child):not(:empty)::before { content: attr(data-head) ": "; color: var(--vp-c-text-2); }
  .vp-doc tr { padding: 6px 0; }
}`;

export default {
  title: "Offload",
  description: "A task pipeline for your own AWS account",
  lang: "en",
  head: [
    ["link", { rel: "icon", type: "image/svg+xml", href: "/favicon.svg" }],
    ["style", {}, styles],
    ["script", {}, `${copyScript}\n${searchBoxScript}`],
  ],
  rewrites: { "README.md": "index.md", "api/README.md": "api/index.md" },
  markdown: {
    anchor: { slugify },
    config: (markdown) => addToPages(markdown, fileOf),
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
  },
  transformPageData: (data) => ({ description: pages.get(data.filePath)?.about ?? "" }),
  buildEnd: writeTexts,
  themeConfig: {
    search: { provider: "local", options: { _render: searchText, miniSearch } },
    outline: [2, 3],
    sidebar,
    nav: [
      { text: "Tutorial", link: "/tutorial-1" },
      { text: "Cookbook", link: "/cookbook" },
      { text: "HTTP API", link: "/api" },
      { text: "Questions", link: "/questions" },
    ],
  },
};
