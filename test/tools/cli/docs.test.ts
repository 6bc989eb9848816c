import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bare } from "./whole-program.ts";

const page = readFileSync("docs/cli.md", "utf8");

/** The commands that `offload <group> --help` lists. */
async function commandsOf(...group: string[]): Promise<string[]> {
  const { out } = await bare([...group, "--help"]);
  const list = out.split(/^Commands:$/m)[1]?.split(/^\S/m)[0] ?? "";
  return [...list.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
}

test("docs/cli.md lists every command", async () => {
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const groups = await commandsOf();
  expect(groups.length).toBeGreaterThan(10);
  for (const group of groups) {
    const about = rows.filter((row) => new RegExp(`\`${group}\\b`).test(row)).join("\n");
    expect(about, group).not.toBe("");
    for (const command of await commandsOf(group)) {
      expect(about, `${group} ${command}`).toMatch(new RegExp(`\`(${group} )?${command}\\b`));
    }
  }
});
