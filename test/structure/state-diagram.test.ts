import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { transitions } from "../../src/core/model/words.ts";

/** The arrows of a page's Mermaid state diagram, without those from and to its ends. */
function arrowsIn(page: string): string[] {
  const [, diagram = ""] = /```mermaid\s*\nstateDiagram-v2\n([\s\S]*?)```/.exec(page) ?? [];
  return diagram
    .split("\n")
    .map((line) => /^\s*(\S+)\s*-->\s*([^\s:]+)/.exec(line))
    .filter((arrow) => arrow !== null)
    .map(([, from, to]) => `${from} --> ${to}`)
    .filter((arrow) => !arrow.includes("[*]"));
}

test("the diagram of the statuses has the arrows of the table of transitions", () => {
  const arrows = arrowsIn(readFileSync("docs/architecture.md", "utf8"));
  const expected = Object.entries(transitions).flatMap(([from, next]) => next.map((to) => `${from} --> ${to}`));
  expect(arrows.toSorted()).toEqual(expected.toSorted());
});

test("the reader of the diagram finds arrows with words, and only arrows", () => {
  const page =
    "# x\n\n```mermaid\nstateDiagram-v2\n  [*] --> a\n  a --> b: with words\n  state c\n  b-->[*]\n  b --> a\n```\n";
  expect(arrowsIn(page)).toEqual(["a --> b", "b --> a"]);
});
