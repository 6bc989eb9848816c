import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runbookSections } from "../../lib/observability/alarms.ts";
import { queries } from "../../lib/observability/queries.ts";
import { run } from "../../src/tools/cli/main.ts";
import type { Terminal } from "../../src/tools/cli/terminal.ts";
import { quietTerminal } from "../support/quiet-terminal.ts";
import { allOf, stage } from "./synthesis.ts";

const dev = stage("dev");
const text = readFileSync(new URL("../../docs/runbook.md", import.meta.url), "utf8");
const app = readFileSync(new URL("../../bin/app.ts", import.meta.url), "utf8");

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .replaceAll(" ", "-");

const sections = new Map(
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return [anchorOf(heading), lines.join("\n")];
    }),
);

/** The shell blocks, without the indentation that they have in lists. */
const blocks = [...text.matchAll(/^( *)```sh\n([\s\S]*?)^ *```/gm)].map(([, indent = "", block = ""]) =>
  block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
);

const inline = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
const code = [...blocks, ...inline];

describe("every alarm's section", () => {
  test.each(runbookSections)("%s exists, and says what users feel, where to look, and when to escalate", (name) => {
    const section = sections.get(name) ?? "";
    for (const part of ["**Users feel**", "**First**", "**Escalate**"]) expect(section).toContain(part);
  });

  test("the page of alarms links each of them, and no other one", () => {
    const page = readFileSync(new URL("../../docs/alarms.md", import.meta.url), "utf8");
    const linked = [...page.matchAll(/^\| \[([\w-]+)\]\(runbook\.md#\1\) \|/gm)].map(([, name]) => name);
    expect(linked.toSorted()).toEqual(runbookSections.toSorted());
  });

  test("the text of each alarm links to its section", () => {
    const alarms = ["AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"].flatMap((type) =>
      allOf(dev.service, type),
    );
    const links = alarms.map(
      (alarm) => /\nRunbook: npx offload docs runbook#(\S+)$/.exec(String(alarm.get("AlarmDescription")))?.[1],
    );
    expect(links.length).toBeGreaterThan(40);
    expect(links.filter((link) => link === undefined || !sections.has(link))).toEqual([]);
  });
});

test.each([
  "a-failing-task",
  "deploying-a-bad-worker-bundle",
  "a-dependency-that-is-down",
  "tasks-that-wait-in-a-line",
  "a-poison-message",
  "a-tenant-flood",
  "a-parent-stays-processing",
  "scheduler-throttled",
  "a-stuck-deploy",
])("section %s exists, with commands", (name) => {
  const section = sections.get(name) ?? "";
  expect(section.length).toBeGreaterThan(500);
  expect(name === "scheduler-throttled" || section.includes("```sh")).toBe(true);
});

test("every link leads to a section", () => {
  const links = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, link = ""]) => link);
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter((link) => !sections.has(link))).toEqual([]);
});

describe("commands of offload", () => {
  const commands = code.flatMap((one) => one.match(/npx offload [^`|)\n]*/g) ?? []).map((one) => one.trim());

  /** What `offload <words> --help` prints; its options, as the command itself knows them. */
  async function helpOf(words: readonly string[]): Promise<string> {
    const lines: string[] = [];
    const write = (line: string) => void lines.push(line);
    const terminal: Terminal = {
      ...quietTerminal,
      out: write,
      note: write,
      progress: write,
    };
    expect(await run([...words, "--help"], terminal)).toBe(0);
    return lines.join("\n");
  }

  test("the runbook has more than 15 commands", () => {
    expect(new Set(commands).size).toBeGreaterThan(15);
  });

  test.each([...new Set(commands)])("%s exists, with its options", async (command) => {
    const words = command.split(/\s+/).slice(2);
    const options = words.filter((word) => /^--?[a-z]/.test(word));
    const named = words.slice(0, words.findIndex((word) => !/^[a-z]+$/.test(word)) >>> 0);
    const help = await helpOf(named.slice(0, 2));
    expect(help).toContain(`Usage: offload ${named.slice(0, 2).join(" ")}`);
    expect(options.filter((option) => !new RegExp(`(^|[ ,])${option}\\b`, "m").test(help))).toEqual([]);
  });
});

describe("shell blocks", () => {
  test.each(blocks.map((block) => [block.split("\n")[0], block]))("bash can parse: %s", (_, block) => {
    const { status, stderr } = spawnSync("bash", ["-n"], { input: block, encoding: "utf8", timeout: 120_000 });
    expect([status, stderr]).toEqual([0, ""]);
  });

  const all = blocks.join("\n");

  test("shell blocks ask for saved queries, and for each of them", () => {
    const asked = [...all.matchAll(/^ask ("([^"]+)"|(\w+))/gm)].map(([, , quoted, bare]) => quoted ?? bare ?? "");
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.filter((name) => !(name in queries))).toEqual([]);
    expect(Object.keys(queries).filter((name) => !asked.includes(name))).toEqual([]);
  });

  test("shell blocks name outputs that the stacks have", () => {
    const outputs = { data: dev.data.toJSON().Outputs, service: dev.service.toJSON().Outputs };
    const named = [...all.matchAll(/output (data|service) (\w+)/g)];
    expect(named.length).toBeGreaterThan(2);
    const missing = named.filter(([, stack, name]) => !((name ?? "") in outputs[stack as "data" | "service"]));
    expect(missing.map(([words]) => words)).toEqual([]);
  });

  test.each([
    ["function", /\$\(fn (\w+)\)/g, dev.service, "AWS::Lambda::Function"],
    ["queue", /\$\(queue(?:_arn)? (\w+)\)/g, dev.data, "AWS::SQS::Queue"],
  ])("shell blocks name each %s by a prefix that only its logical id has", (_, pattern, template, type) => {
    const ids = allOf(template, type).map(({ logicalId }) => logicalId);
    const named = [...all.matchAll(pattern)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(3);
    for (const name of named) expect(ids.filter((id) => id.startsWith(name))).toHaveLength(1);
  });

  test("shell blocks set context that the app reads", () => {
    const named = [...text.matchAll(/-c "?(\w+)=/g)].map(([, name = ""]) => name);
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((name) => !app.includes(`context("${name}")`))).toEqual([]);
  });
});

test("the texts of alarms name saved queries", () => {
  const texts = allOf(dev.service, "AWS::CloudWatch::Alarm").map((alarm) => String(alarm.get("AlarmDescription")));
  const named = texts.flatMap((one) => [...one.matchAll(/saved query "([^"]+)"/g)].map(([, name = ""]) => name));
  expect(named.length).toBeGreaterThan(10);
  expect([...new Set(named)].filter((name) => !(name in queries))).toEqual([]);
});
