import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../src/tools/cli/main.ts";
import { type Fence, fencesOf, pages } from "../support/pages.ts";
import { quietTerminal } from "../support/quiet-terminal.ts";

/* The code in the pages: TypeScript compiles, JSON parses, and the commands of `offload` exist. */

const fences = pages.flatMap(fencesOf);
const inLanguage = (...languages: string[]) =>
  fences.filter(({ words: [language = ""] }) => languages.includes(language));
const placeOf = ({ page, line }: Fence) => `${page}:${line}`;

const root = join(import.meta.dirname, "../..");
const shared = join(root, "test/support/snippets");

const options = {
  target: "es2024",
  lib: ["es2024", "esnext.disposable", "dom", "dom.iterable"],
  module: "esnext",
  moduleResolution: "bundler",
  types: ["node"],
  strict: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  paths: {
    offload: [join(root, "src/entries/index.ts")],
    "offload/schedules": [join(root, "src/entries/schedules.ts")],
    "offload/triggers": [join(root, "src/entries/triggers.ts")],
    "offload/testing": [join(root, "src/entries/testing.ts")],
    "offload/cdk": [join(root, "lib/index.ts")],
    "offload/client": [join(root, "src/client/index.ts")],
    "offload/direct": [join(root, "src/direct/index.ts")],
  },
};

/** The file of a snippet: that of its first line, such as `// tasks/mail.send.ts`, else one of its own. */
function fileOf({ page, line, text }: Fence): string {
  const folder = basename(page, ".md");
  const [, named] = /^\/\/ ((?:app|bin|lib|tasks|test)\/[\w./[\]-]+\.ts)\n/.exec(text) ?? [];
  return named === undefined ? `${folder}/src/line-${line}.ts` : `${folder}/${named}`;
}

/**
 * Writes each snippet into a file, beside the project that `test/support/snippets` has for all pages: its `globals.d.ts` declares
 * the names that parts of a program use, such as `client`.
 */
function writeProject(folder: string, snippets: readonly Fence[]): void {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["**/*.ts"] }));
  cpSync(shared, folder, { recursive: true });
  for (const page of new Set(snippets.map(({ page }) => basename(page, ".md")))) {
    cpSync(shared, join(folder, page), { recursive: true, filter: (path) => !path.endsWith("globals.d.ts") });
  }
  for (const snippet of snippets) {
    const file = join(folder, fileOf(snippet));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${snippet.text}\nexport {};\n`);
  }
}

test("the TypeScript of the pages compiles", async () => {
  // Quotes compile in their own files.
  const snippets = inLanguage("ts").filter(({ words }) => !words.includes("no-check") && words[1] !== "from");
  expect(snippets.length).toBeGreaterThan(40);
  const folder = mkdtempSync(join(tmpdir(), "snippets-"));
  try {
    writeProject(folder, snippets);
    const output = await new Promise<string>((resolve) => {
      const tsc = join(root, "node_modules/.bin/tsc");
      execFile(tsc, ["-p", folder], { cwd: folder, maxBuffer: 10_000_000 }, (_, stdout) => resolve(stdout));
    });
    expect(output.split("\n").filter((line) => line !== "")).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the Python of the pages compiles", () => {
  const snippets = inLanguage("python");
  expect(snippets.length).toBeGreaterThan(8);
  const program = "import json, sys\nfor s in json.load(sys.stdin): compile(s['text'], s['place'], 'exec')";
  const input = JSON.stringify(snippets.map((snippet) => ({ place: placeOf(snippet), text: snippet.text })));
  const { status, stderr } = spawnSync("python3", ["-c", program], { input, encoding: "utf8", timeout: 60_000 });
  expect([status, stderr]).toEqual([0, ""]);
});

test("few snippets are not checked", () => {
  const unchecked = inLanguage("ts").filter(({ words }) => words.includes("no-check"));
  expect(unchecked.length).toBeLessThanOrEqual(5);
});

describe("the JSON of the pages parses", () => {
  test.each(inLanguage("json").map((fence) => [placeOf(fence), fence.text]))("%s", (_, text) => {
    expect(() => JSON.parse(text)).not.toThrow();
  });
});

/** The groups and commands after `npx offload` in blocks of commands: `tasks list`. */
const commands = new Set(
  inLanguage("", "bash", "sh", "text").flatMap(({ text }) =>
    [...text.matchAll(/npx offload ([a-z]+)(?: ([a-z]+)\b(?![.:/]))?/g)].map(([, group, name]) =>
      name === undefined ? `${group}` : `${group} ${name}`,
    ),
  ),
);

/** Text of `npx offload <group> --help`; undefined: there is no such group. */
async function helpOf(group: string): Promise<string | undefined> {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const terminal = { ...quietTerminal, out: write, note: write };
  return (await run([group, "--help"], terminal)) === 0 ? lines.join("\n") : undefined;
}

describe("every command of `offload` in the pages exists", () => {
  test.each([...commands].sort())("%s", async (command) => {
    const [group = "", name] = command.split(" ");
    const help = await helpOf(group);
    expect(help, group).toBeDefined();
    if (name !== undefined && help?.includes("\nCommands:")) expect(help).toMatch(new RegExp(`^  ${name}\\b`, "m"));
  });
});
