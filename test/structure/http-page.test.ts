import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { errorKinds } from "../../src/core/model/errors.ts";
import { problemCodes } from "../../src/core/model/problem.ts";
import { httpPages } from "../support/http-page.ts";
import { problemTexts } from "../support/problem-texts.ts";
import { rowsFile } from "../support/rows-file.ts";

test("src/api/acts/rows.ts has the present acts: otherwise run `npm run docs:http`", () => {
  expect(readFileSync("src/api/acts/rows.ts", "utf8")).toBe(rowsFile());
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

test("every object has its fields, also one of several forms", () => {
  const sections = pages["docs/api-objects.md"]?.split("\n## ").slice(1) ?? [];
  const ofAny = ["Signal", "LinkAnswer", "Nothing"];
  const names = sections.filter((section) => !section.includes("\n| `")).map((section) => section.split("\n")[0]);
  expect(names.filter((name) => !ofAny.includes(name ?? ""))).toEqual([]);
});

test("each problem and each error kind has its page, and no other one has", () => {
  const own = (folder: string) => globSync(`docs/${folder}/*.md`).map((file) => file.replace(/.*\/|\.md$/g, ""));
  expect(own("problems").sort()).toEqual(Object.keys(problemCodes).sort());
  expect(own("error-kinds").sort()).toEqual([...errorKinds].sort());
});

describe("a text of `detail` in a problem's page is one that the code has", () => {
  const sources = globSync("src/{api,core,local}/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const escaped = (text: string): string => text.replaceAll(/[.*+?^$()|[\]{}\\]/g, "\\$&");
  const literals = sources
    .join("\n")
    .match(/"(?:[^"\\\n]|\\.){12,}"|`(?:[^`\\\n]|\\.){12,}`/g)
    ?.map((literal) => literal.slice(1, -1).replaceAll("\\", ""));
  const patterns = (literals ?? [])
    .map((text) => text.split(/\$\{(?:[^{}]|\{[^}]*\})*\}/))
    .filter((parts) => parts.join("").trim().length > 11)
    .map((parts) => new RegExp(`^${parts.map(escaped).join(".+")}$`));
  /** Their words are those of a schema. */
  const ofSchemas = ["input.width: expected a positive integer, got -3"];

  test.each(Object.entries(problemTexts))("%s", (_, { causes }) => {
    const details = causes.map(([detail]) => detail).filter((detail) => !ofSchemas.includes(detail));
    expect(details.filter((detail) => !patterns.some((pattern) => pattern.test(detail)))).toEqual([]);
  });
});
