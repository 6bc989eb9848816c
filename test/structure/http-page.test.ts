import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { httpPages } from "../support/http-page.ts";
import { rowsFile } from "../support/rows-file.ts";

test("src/operations/rows.ts has the present acts: otherwise run `npm run docs:http`", () => {
  expect(readFileSync("src/operations/rows.ts", "utf8")).toBe(rowsFile());
});

const pages = httpPages();

test.each(Object.keys(pages))("%s describes the present routes: otherwise run `npm run docs:http`", (file) => {
  expect(readFileSync(file, "utf8")).toBe(pages[file]);
});

test("every field of a body and of an answer has a meaning", () => {
  const withoutMeaning = Object.values(pages)
    .flatMap((page) => page.split("\n"))
    .filter((line) => /^\| `[\w.[\]]+`.*\|\s*\|$/.test(line));
  expect(withoutMeaning).toEqual([]);
});
