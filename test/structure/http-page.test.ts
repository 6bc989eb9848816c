import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { httpPage } from "../support/http-page.ts";
import { rowsFile } from "../support/rows-file.ts";

test("src/operations/rows.ts has the present acts: otherwise run `npm run docs:http`", () => {
  expect(readFileSync("src/operations/rows.ts", "utf8")).toBe(rowsFile());
});

test("docs/api.md describes the present routes: otherwise run `npm run docs:http`", () => {
  expect(readFileSync("docs/api.md", "utf8")).toBe(httpPage());
});

test("every field of a body and of an answer has a meaning", () => {
  const withoutMeaning = httpPage()
    .split("\n")
    .filter((line) => /^\| `[\w.[\]]+`.*\|\s*\|$/.test(line));
  expect(withoutMeaning).toEqual([]);
});
