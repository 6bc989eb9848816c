import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fencesOf, pages } from "../support/pages.ts";

/* Blocks of code in the pages that quote a file: their first line is, for example, ```ts from examples/task-manager/server.ts */

const quotes = pages.flatMap(fencesOf).filter(({ words: [, from] }) => from === "from");
const linesOf = (text: string): string[] => text.split("\n").map((line) => line.trim());

test("the pages quote each example that they can quote", () => {
  expect(quotes.length).toBeGreaterThanOrEqual(4);
});

test.each(quotes.map(({ page, line, words: [, , file = ""], text }) => ({ place: `${page}:${line}`, file, text })))(
  "$place quotes $file word for word",
  ({ file, text }) => {
    expect(existsSync(file)).toBe(true);
    const quoted = linesOf(text.trim());
    const lines = linesOf(readFileSync(file, "utf8"));
    const start = lines.findIndex((_, index) => quoted.every((line, offset) => lines[index + offset] === line));
    expect(start, `${file} does not have these lines`).toBeGreaterThanOrEqual(0);
  },
);
