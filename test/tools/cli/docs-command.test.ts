import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { forTerminal, type Page, sectionsOf } from "../../../src/tools/cli/docs-pages.ts";
import { programOf } from "./stub-api.ts";

const { bare } = programOf({ docs: () => import("../../../src/tools/cli/docs.ts") });

describe("a page is printed", () => {
  test("by its name, with all of its sections", async () => {
    const { code, out } = await bare(["docs", "webhooks"]);
    expect(code).toBe(0);
    expect(out).toContain("# Webhooks\n");
    expect(out).toContain("## Verify the signature\n");
  });

  test.each(["runbook#depth", "docs/runbook.md#depth"])(
    "the section %s alone, as an alarm's text names it",
    async (name) => {
      const { code, out } = await bare(["docs", name]);
      expect(code).toBe(0);
      expect(out).toMatch(/^offload docs runbook#depth\n## Depth\n/);
      expect(out).not.toContain("## Oldest message");
    },
  );

  test("the page of a problem, by its type as a program gets it", async () => {
    const { code, out } = await bare(["docs", "urn:offload:error:queue_full"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^offload docs problems\/queue_full\n# `queue_full`: 503 Queue full\n/);
    expect(out).toContain("[problems]");
  });

  test("by words, with the names of other sections on the error output", async () => {
    const { code, out, notes } = await bare(["docs", "verify", "the", "signature", "of", "a", "webhook"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^offload docs webhooks#verify-the-signature\n/);
    expect(notes).toContain("Also found:\n  webhooks");
  });

  test("without any request", async () => {
    const fetch = vi.spyOn(globalThis, "fetch");
    await bare(["docs", "webhooks"]);
    await bare(["docs", "rate", "limit"]);
    expect(fetch).not.toHaveBeenCalled();
    fetch.mockRestore();
  });

  test("as the path of its file", async () => {
    const { out } = await bare(["docs", "webhooks", "--path"]);
    expect(readFileSync(out.trim(), "utf8")).toContain("# Webhooks\n");
  });
});

test("without words every page for users is listed with a sentence", async () => {
  const { code, out } = await bare(["docs"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^ {2}README +The first task/m);
  expect(out.split("\n").filter((line) => /^ {2}[\w/.-]+ {2,}\S.*\.$/.test(line)).length).toBeGreaterThan(40);
  expect(out).not.toContain("decisions");
});

test.each([
  [["docs", "runbook#nowhere"], "the page runbook has no section nowhere; `npx offload docs` lists all pages"],
  [["docs", "qqqqq"], 'no page has "qqqqq"; `npx offload docs` lists all pages'],
])("%j fails and says so", async (args, message) => {
  expect(await bare(args)).toMatchObject({ code: 1, out: "", notes: `offload: ${message}\n` });
});

test("links become words that open their targets; blocks of code stay", () => {
  const page: Page = { page: "api/offload", title: "", about: "" };
  const markdown =
    'See [limits](../limits.md#submit), [below](#here), [it](offload.cdk.md), ![A flow.](a.svg), <picture>\n<img src="b.png" alt="A page.">\n</picture> and [that](https://a.example).\n\n```\n[x](y.md)\n```\n';
  expect(forTerminal(page, markdown)).toBe(
    "See limits [limits#submit], below [api/offload#here], it [api/offload.cdk], [picture: A flow.], [picture: A page.] and that (https://a.example).\n\n```\n[x](y.md)\n```\n",
  );
});

test("a line within a block of code is no heading", () => {
  const page: Page = { page: "a", title: "A", about: "" };
  const sections = sectionsOf(page, "# A\n\n```sh\n# a comment\n```\n\n## B and `c`\n\ntext\n");
  expect(sections.map(({ heading, anchor }) => [heading, anchor])).toEqual([
    ["A", ""],
    ["B and `c`", "b-and-c"],
  ]);
});
