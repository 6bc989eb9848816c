import { existsSync, globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const fence = /^ *```[\s\S]*?^ *```/gm;
const repositoryPath = /^(?:bin|docs|examples|lambdas|lib|src|tasks|test)\/[\w./-]*$/;

/** The repository paths in a page's inline code, such as `src/core/model/words.ts`; blocks of code are left out. */
function pathsIn(page: string): string[] {
  const code = [...page.replaceAll(fence, "").matchAll(/`([^`\n]+)`/g)].map(([, text = ""]) => text);
  return code.flatMap((text) => text.split(/\s+/)).filter((word) => repositoryPath.test(word));
}

/** Files of projects that this one does not have. */
const usersOwn = ["tasks/process.ts"];

const pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", ...globSync("docs/*.md").sort()];

describe("every repository path that a page names exists", () => {
  test.each(pages)("%s", (page) => {
    // The change log names the pages of its time.
    const others = page === "CHANGELOG.md" ? /^docs\// : /^$/;
    const missing = pathsIn(readFileSync(page, "utf8")).filter(
      (path) => !existsSync(path) && !others.test(path) && !usersOwn.includes(path),
    );
    expect(missing).toEqual([]);
  });

  test("the pages name many paths", () => {
    const paths = pages.flatMap((page) => pathsIn(readFileSync(page, "utf8")));
    expect(new Set(paths).size).toBeGreaterThan(30);
  });
});

test.each(pages)("%s has no marks of a merge", (page) => {
  expect(
    readFileSync(page, "utf8")
      .split("\n")
      .filter((line) => /^(<{7}|={7}|>{7})( |$)/.test(line)),
  ).toEqual([]);
});

test("paths are found alone and within a command, not in blocks of code or in other words", () => {
  const page =
    "See `src/a.ts`, `test/` and `npm run plan -- examples/b.json`, not `src`.\n\n```\n`lib/c.ts`\n```\n\n`x/src/d.ts`\n";
  expect(pathsIn(page)).toEqual(["src/a.ts", "test/", "examples/b.json"]);
});
