import { anchorOf } from "../src/tools/cli/docs-pages.ts";

/*
 * The site changes the pages' Markdown: the first use of each of our words in a page links to its row of the
 * glossary, and below the title stand the page as Markdown and a button that copies it. `docs/.vitepress/config.mjs`
 * gives it to VitePress, whose markdown-it it is for.
 */

/** The parts that are used of a token of markdown-it. */
interface Token {
  type: string;
  tag: string;
  content: string;
  children: Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface State {
  tokens: Token[];
  env: { relativePath?: string; isSearch?: boolean };
  Token: new (type: string, tag: string, nesting: -1 | 0 | 1) => Token;
}

interface MarkdownIt {
  core: { ruler: { push(name: string, rule: (state: State) => void): void } };
}

/** Words of ours that mean nothing else in a page. Each one has a row of the glossary, which begins with it. */
const terms = [
  ...["attempt", "backoff", "breaker", "checkpoint", "container worker", "dead letter", "debounce", "lease"],
  ...["task type", "tenant", "tier", "unique key"],
];

/** Pages that define the words, or that name them in every line. */
const withoutTerms = /^(?:glossary|architecture|layout|decisions|api|api-[\w-]+|api\/.*)\.md$/;

/**
 * Adds these changes to VitePress's markdown-it.
 * @param pageOf Path below `docs` of a page of the site, such as `README.md` for `index.md`
 */
export function addToPages(markdown: MarkdownIt, pageOf: (relativePath: string) => string): void {
  markdown.core.ruler.push("offload", (state) => {
    const { relativePath, isSearch } = state.env;
    if (relativePath === undefined || isSearch === true) return;
    const page = pageOf(relativePath);
    nameIndexes(state);
    emptyHeads(state);
    nameCells(state);
    if (page === "glossary.md") nameRows(state);
    else if (!withoutTerms.test(page)) linkTerms(state);
    addTools(state, page);
  });
}

/** A folder's `README.md` is its index on the site. VitePress moves the page, and not the links to it. */
function nameIndexes({ tokens }: State): void {
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === "link_open" ? token.attrGet("href") : null;
    if (href !== null && !/^\w+:/.test(href))
      token.attrSet("href", href.replace(/(^|\/)README\.md(?=#|$)/, "$1index.md"));
  }
}

/** An empty cell in the head of a table is the head of no column. */
function emptyHeads({ tokens }: State): void {
  for (const [index, { type, content }] of tokens.entries()) {
    const [open, close] = [tokens[index - 1], tokens[index + 1]];
    if (type !== "inline" || content !== "" || open?.type !== "th_open" || close === undefined) continue;
    open.tag = "td";
    close.tag = "td";
  }
}

/** Each cell knows the head of its column: on a phone, where a row is a block, it stands before the cell. */
function nameCells({ tokens }: State): void {
  let heads: string[] = [];
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    const text = (tokens[index + 1]?.content ?? "").replaceAll(/[`*]|\]\([^)]*\)|\[/g, "").trim();
    if (token.type === "table_open") heads = [];
    else if (token.type === "tr_open") column = 0;
    else if (token.type === "th_open") heads.push(text);
    else if (token.type === "td_open") {
      const head = heads[column++] ?? "";
      if (head !== "") token.attrSet("data-head", head);
    }
  }
}

/** Each row of the glossary gets an anchor: its first word. */
function nameRows({ tokens }: State): void {
  for (const [index, { type }] of tokens.entries()) {
    const [cell, text] = tokens.slice(index + 1);
    if (type !== "tr_open" || cell?.type !== "td_open" || text === undefined) continue;
    cell.attrSet("id", anchorOf(text.content.split(",")[0] ?? ""));
  }
}

/** The texts of a page whose words may link: none within a heading or the head of a table. */
const linkable = (tokens: readonly Token[]): Token[] =>
  tokens.filter(({ type }, index) => type === "inline" && !/^(?:heading|th)_open$/.test(tokens[index - 1]?.type ?? ""));

function linkTerms(state: State): void {
  const left = new Set(terms);
  for (const text of linkable(state.tokens)) {
    let depth = 0;
    text.children = (text.children ?? []).flatMap((child) => {
      if (child.type === "link_open") depth += 1;
      if (child.type === "link_close") depth -= 1;
      return child.type === "text" && depth === 0 ? linked(state, child.content, left) : [child];
    });
  }
}

/** A text with links at the first uses of the words that are left. */
function linked(state: State, content: string, left: Set<string>): Token[] {
  const plain = (text: string): Token => Object.assign(new state.Token("text", "", 0), { content: text });
  const pattern = new RegExp(`(?<![\\w-])(${[...left].join("|")})s?(?![\\w-])`, "i");
  const found = left.size === 0 ? null : pattern.exec(content);
  if (found === null) return [plain(content)];
  const [use, word = ""] = found;
  const term = word.toLowerCase();
  left.delete(term);
  const open = new state.Token("link_open", "a", 1);
  open.attrSet("href", `/glossary.md#${anchorOf(term)}`);
  open.attrSet("class", "term");
  const close = new state.Token("link_close", "a", -1);
  const rest = content.slice(found.index + use.length);
  return [plain(content.slice(0, found.index)), open, plain(use), close, ...linked(state, rest, left)];
}

function addTools({ tokens, Token }: State, page: string): void {
  const end = tokens.findIndex(({ type, tag }) => type === "heading_close" && tag === "h1");
  if (end < 0) return;
  const content = `<p class="page-tools"><a href="/${page}" target="_self">Markdown</a> <button type="button" class="copy-page" data-page="/${page}">Copy as Markdown</button></p>\n`;
  tokens.splice(end + 1, 0, Object.assign(new Token("html_block", "", 0), { content }));
}

/** Runs in the browser: the button copies its page. */
export const copyScript = `addEventListener("click", async ({ target }) => {
  const button = target.closest?.(".copy-page");
  if (!button) return;
  const text = button.textContent;
  try {
    await navigator.clipboard.writeText(await (await fetch(button.dataset.page)).text());
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied: the browser allows it on https only";
  }
  setTimeout(() => { button.textContent = text; }, 2000);
});`;
