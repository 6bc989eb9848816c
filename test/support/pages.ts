import { globSync, readFileSync } from "node:fs";

/** The pages of the project, without those that a tool writes from doc comments. */
export const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...globSync("docs/{,problems/,error-kinds/}*.md").sort(),
];

/** A block of code in a page. */
export interface Fence {
  page: string;
  /** Number of the line at which the block starts. */
  line: number;
  /** Words after the back-ticks, such as `ts` and `no-check`. */
  words: string[];
  text: string;
}

/** A block may be inside a list, with every line indented. */
const fencePattern = /^( *)```([^\n`]*)\n([\s\S]*?)^\1```$/gm;

/** Returns the blocks of code of a page. */
export function fencesOf(page: string): Fence[] {
  const text = readFileSync(page, "utf8");
  return [...text.matchAll(fencePattern)].map(({ index, 1: indent = "", 2: info = "", 3: code = "" }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    words: info.trim().split(/\s+/),
    text: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** Returns the text of a page without its blocks of code. */
export const withoutFences = (text: string): string => text.replaceAll(fencePattern, "");
