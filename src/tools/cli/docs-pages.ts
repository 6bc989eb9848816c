import { readdirSync, readFileSync } from "node:fs";

/** A page of the documentation, as `docs/pages.json` lists it. The site's sidebar has the same list. */
export interface Page {
  /** Path of its file below `docs`, without `.md`. */
  page: string;
  title: string;
  /** One sentence about its content. */
  about: string;
  /** Words by which people search for it and which its text does not have. */
  words?: string;
  /** True for a page that a tool writes from doc comments. A search ranks it last. */
  generated?: boolean;
  /** True for an overview whose entries have a page each, in the folder of its name. */
  parts?: boolean;
  /** True for the page of one entry. Tables of contents list the overview only. */
  isPart?: boolean;
}

/** A part of the table of contents. */
export interface Group {
  group: string;
  /** True for pages about this project's own code. The package does not have them. */
  maintainers?: boolean;
  pages: Page[];
}

/** A heading of a page with the text below it, up to the next heading of any level. */
export interface Section {
  page: Page;
  /** Anchor of the heading, as on GitHub. Empty: the start of the page. */
  anchor: string;
  heading: string;
  level: number;
  text: string;
}

/** Returns the groups of all pages, from the folder's table of contents. */
export const allGroupsIn = (folder: string): Group[] =>
  (JSON.parse(readFileSync(`${folder}pages.json`, "utf8")) as Group[]).map((group) => ({
    ...group,
    pages: group.pages.flatMap((page) => [page, ...partsOf(folder, page)]),
  }));

/** Returns the groups of pages for users. */
export const groupsIn = (folder: string): Group[] =>
  allGroupsIn(folder).filter(({ maintainers }) => maintainers !== true);

/** The pages of an overview's entries, in the order of their names. Their words are those of the overview. */
function partsOf(folder: string, { page, parts, words }: Page): Page[] {
  if (parts !== true) return [];
  const names = readdirSync(`${folder}${page}`).filter((file) => file.endsWith(".md"));
  return names.sort().map((file) => {
    const [, heading = ""] = /^# (.+)$/m.exec(readFileSync(`${folder}${page}/${file}`, "utf8")) ?? [];
    const title = heading.replaceAll("`", "");
    return {
      page: `${page}/${file.replace(".md", "")}`,
      title,
      about: `${title}, with cause and cure.`,
      ...(words && { words }),
      isPart: true,
    };
  });
}

/** The anchor of a heading, as GitHub and the site make it. */
export const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

/** Returns the sections of a page in their order. A line that looks like a heading within a block of code is none. */
export function sectionsOf(page: Page, markdown: string): Section[] {
  const sections: Section[] = [];
  let inCode = false;
  for (const line of markdown.split("\n")) {
    if (/^ *```/.test(line)) inCode = !inCode;
    const [, marks = "", heading = ""] = (inCode ? null : /^(#{1,6}) +(.+)$/.exec(line)) ?? [];
    const last = sections.at(-1);
    if (heading !== "") {
      const level = marks.length;
      sections.push({ page, anchor: level === 1 ? "" : anchorOf(heading), heading, level, text: "" });
    } else if (last !== undefined) last.text += `${line}\n`;
  }
  return sections;
}

/** Returns the section of an index with the sections below it, as Markdown. The first section of a page is the page. */
export function withParts(sections: readonly Section[], from: number): string {
  const top = sections[from]?.level ?? 1;
  const after = sections.findIndex(({ level }, index) => index > from && level <= top);
  return sections
    .slice(from, after < 0 ? undefined : after)
    .map(({ level, heading, text }) => `${"#".repeat(level)} ${heading}\n${text}`)
    .join("");
}

/** Replaces links by the words that open their targets: `[page#section]` for `npx offload docs page#section`. */
export function forTerminal(page: Page, markdown: string): string {
  const folder = page.page.includes("/") ? page.page.replace(/[^/]+$/, "") : "";
  const linked = (text: string, target: string): string => {
    if (/^\w+:/.test(target)) return `${text} (${target})`;
    if (target.startsWith("#")) return `${text} [${page.page}${target}]`;
    return `${text} [${`${folder}${target}`.replace(/[^/]+\/\.\.\//, "").replace(".md", "")}]`;
  };
  return markdown
    .split(/(^ *```[^\n]*\n[\s\S]*?^ *```$)/m)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .replaceAll(/<picture>[\s\S]*?alt="([^"]*)"[\s\S]*?<\/picture>/g, "[picture: $1]")
            .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, "[picture: $1]")
            .replaceAll(/\[([^\]]+)\]\(([^()\s]+)\)/g, (_, text: string, target: string) => linked(text, target)),
    )
    .join("");
}
