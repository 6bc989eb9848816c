import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { allGroupsIn } from "../../src/tools/cli/docs-pages.ts";
import { pages, withoutFences } from "../support/pages.ts";

const all = [...pages, ...globSync("docs/api/*.md").sort()];
const groups = allGroupsIn("docs/");

/** Targets of the links and pictures of a page, without URLs. */
function linksIn(page: string): string[] {
  const text = withoutFences(readFileSync(page, "utf8")).replaceAll(/`[^`\n]*`/g, "code");
  const targets = [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^(https?|mailto):/.test(target));
}

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  const text = withoutFences(readFileSync(page, "utf8"));
  for (const [, heading = ""] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .trim()
      .toLowerCase();
    const anchor = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

/** True when a link leads to a file, and to one of its headings. */
function leads(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  return existsSync(file) && (anchor === undefined || anchorsOf(file).has(anchor));
}

/** True when a link of the site's page leads out of the site, which has the folder `docs` only: its build fails then. */
const leaves = (page: string, target: string): boolean =>
  page.startsWith("docs/") && !join(dirname(page), target).startsWith("docs/");

describe("every link of a page leads to a file and to a heading", () => {
  test.each(all)("%s", (page) => {
    expect(linksIn(page).filter((target) => !leads(page, target))).toEqual([]);
  });

  test.each(all)("no link of %s leads out of the site", (page) => {
    expect(linksIn(page).filter((target) => leaves(page, target))).toEqual([]);
  });

  test("a link of the site to a file beside the folder of its pages leads out of it", () => {
    expect(leaves("docs/beside.md", "../README.md")).toBe(true);
    expect(leaves("docs/beside.md", "api/README.md#a")).toBe(false);
    expect(leaves("docs/api/offload.md", "../api.md")).toBe(false);
    expect(leaves("README.md", "CONTRIBUTING.md")).toBe(false);
  });

  test("the pages have many links", () => {
    expect(all.flatMap(linksIn).length).toBeGreaterThan(100);
  });

  test("docs/pages.json, which the site and `offload docs` have, lists every page once", () => {
    const listed = groups.flatMap(({ pages }) => pages.map(({ page }) => `docs/${page}.md`));
    expect(listed.toSorted()).toEqual(globSync("docs/{,*/}*.md").sort());
  });
});

describe("what a user of the package reads is in the package", () => {
  const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: string[] };
  const left = files.filter((file) => file.startsWith("!")).flatMap((file) => globSync(file.slice(1)));
  const packed = new Set(
    [
      ...globSync(files.flatMap((file) => (file.startsWith("!") ? [] : [file, `${file}/**`]))),
      "README.md",
      "LICENSE",
      "package.json",
    ].filter((file) => !left.includes(file)),
  );
  const forUsers = [
    "README.md",
    ...groups
      .filter(({ maintainers }) => !maintainers)
      .flatMap(({ pages }) => pages.map(({ page }) => `docs/${page}.md`)),
  ];

  test("each page, and none for maintainers", () => {
    expect(forUsers.filter((page) => !packed.has(page))).toEqual([]);
    const others = groups.filter(({ maintainers }) => maintainers).flatMap(({ pages }) => pages);
    expect(others.length).toBeGreaterThan(1);
    expect(others.filter(({ page }) => packed.has(`docs/${page}.md`))).toEqual([]);
  });

  test.each(forUsers)("each file that %s links", (page) => {
    const targets = linksIn(page).map((target) => target.split("#")[0] ?? "");
    const linked = targets.filter((path) => path !== "").map((path) => join(dirname(page), path));
    expect(linked.filter((path) => !packed.has(path))).toEqual([]);
  });
});
