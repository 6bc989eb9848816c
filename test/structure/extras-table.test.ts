import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Extra } from "../../src/core/ports/extra.ts";
import { MemoryStepStore } from "../../src/memory/steps.ts";

/** The extras that follow tasks, in the order of the core's list. */
async function followers(): Promise<Extra[]> {
  const text = readFileSync("src/core/extras/list.ts", "utf8");
  const [, named = ""] = /extrasOf\(\[([^\]]+)\]\)/.exec(text) ?? [];
  const extras = named
    .split(/,\s*/)
    .filter((given) => given !== "")
    .map(async (given) => {
      const name = given.replace(/\(.*/, "");
      const [, door = ""] = new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from "\\./([^"]+)"`).exec(text) ?? [];
      const loaded = (await import(`../../src/core/extras/${door}`)) as Record<string, unknown>;
      const extra = loaded[name];
      return (typeof extra === "function" ? extra(new MemoryStepStore()) : extra) as Extra;
    });
  return Promise.all(extras);
}

/** The cells of the table's rows, as the page shows them. */
const rowsOf = (page: string): string[][] =>
  page
    .slice(page.indexOf("| extra |"))
    .split("\n\n")[0]
    ?.split("\n")
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    ) ?? [];

test("the table of extras and moments has each extra in the order of the calls, and each of its hooks", async () => {
  const [head = [], , ...rows] = rowsOf(readFileSync("docs/architecture.md", "utf8"));
  const hooks = head.slice(1).map((cell) => cell.replaceAll("`", ""));
  const shown = rows.slice(0, -1).map(([name, ...cells]) => [name, ...hooks.filter((_, index) => cells[index])]);
  const extras = await followers();
  const isHook = (member: string) => member !== "name" && member !== "field";
  const inOrder = (members: string[]) => members.sort((a, b) => hooks.indexOf(a) - hooks.indexOf(b));
  const real = extras.map((extra) => [extra.name, ...inOrder(Object.keys(extra).filter(isHook))]);
  expect(real.length).toBeGreaterThan(7);
  expect(shown).toEqual(real);
});

test("what an extra keeps beside a task that goes on is kept beside an ended one, too, unless nobody needs it then", async () => {
  const extras = await followers();
  const without = extras.filter((extra) => "keep" in extra && !("keepEnded" in extra)).map(({ name }) => name);
  // A task that has ended needs its key no more, and its list is its input; a dead letter keeps its input by itself.
  expect(without).toEqual(["unique", "collect", "input"]);
});
