import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { forTerminal, groupsIn, type Page, type Section, sectionsOf } from "../../src/cli/docs-pages.ts";
import { search } from "../../src/cli/docs-search.ts";
import { bare } from "./stub-api.ts";

const childFails = "children#the-parent-continues-although-a-child-fails-a-callback-that-always-runs";

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

/* What people ask, in their words, and the sections of which one has to be among the first five that are found. */
describe("a search finds the section", () => {
  const folder = "docs/";
  const sections = groupsIn(folder)
    .flatMap(({ pages }) => pages)
    .flatMap((page) => sectionsOf(page, readFileSync(`${folder}${page.page}.md`, "utf8")));
  const nameOf = ({ page, anchor }: Section): string => (anchor === "" ? page.page : `${page.page}#${anchor}`);

  test.each([
    ["post to slack when a job fails for good", "alerts"],
    ["sentry", "alerts#sentry"],
    [
      "playwright e2e stub background jobs",
      "end-to-end-tests#end-to-end-tests-of-your-app-without-calls-of-third-parties",
    ],
    ["support staff may only view", "tenants#a-role-that-only-reads"],
    ["two rate limits at once", "rate-limits#multiple-rate-limits-per-second-per-minute-per-day"],
    ["exponential backoff", "errors#exponential-backoff"],
    ["stop a task that runs", "cancel"],
    ["abort", "cancel"],
    ["daylight saving time", "schedules#daylight-saving-downtime-and-missed-runs"],
    ["cron job", "schedules"],
    ["partial batch", "many-tasks#rules-of-a-batch"],
    ["dlq", "replay"],
    ["slots and queue of a limit", "how-waiting-works#slots-of-concurrency"],
    ["outbox", "cookbook#submit-what-was-not-submitted"],
    ["charged for sqs although nothing runs", "cost#why-am-i-charged-for-sqs-without-messages"],
    ["the customer got the mail twice", "find-what-failed#the-mail-was-sent-twice"],
    ["idempotency key or unique key", "do-it-once#idempotency-key-or-unique-key"],
    ["lambda runs longer than 15 minutes", "long-work"],
    ["parent goes on when a child fails", childFails],
    ["approval of a manager", "wait"],
    ["it works on my machine and is stuck in production", "works-here-not-in-aws"],
    ["prisma", "code#native-modules-and-prisma"],
    ["quota_exceeded", "problems#quota_exceeded"],
    ["move delayed jobs from bullmq", "from-bullmq#move-without-losing-a-job"],
    ["step functions or temporal", "temporal-and-step-functions"],
    ["preview for a pull request", "ci#previews-of-pull-requests"],
  ])("%s: %s", (words, wanted) => {
    expect(search(sections, words).slice(0, 5).map(nameOf)).toContain(wanted);
  });
});
