import { expect, test } from "vitest";
import { columns, cut, fits } from "../src/machine/columns.ts";

test("columns are aligned by the width that a terminal shows", () => {
  const rows = [
    ["name", "state"],
    ["日本", "a"],
    ["👩‍👩‍👧", "b"],
    ["abcdef", "c"],
  ];
  expect(columns(rows).split("\n")).toEqual(["name    state", "日本    a", "👩‍👩‍👧      b", "abcdef  c"]);
});

test("columns shrink to the width, the widest first, and never the first one", () => {
  const rows = [["0198f0c2-7a54", "a long name of something", "completed", "the relay said no, and then again"]];
  for (const width of [43, 50, 60, 70]) {
    const line = columns(rows, { width });
    expect(line.length).toBeLessThanOrEqual(width);
    expect(line).toMatch(/^0198f0c2-7a54 /);
  }
  expect(columns(rows, { width: 60 })).toContain("completed");
  expect(columns(rows, { width: 10 })).toBe("0198f0c2-7a54  a long …  complet…  the rel…");
});

test("columns fit a width in which each can be read", () => {
  const rows = [["0198f0c2-7a54", "a long name of something", "completed", "no"]];
  expect(fits(rows, 13 + 8 + 8 + 2 + 3 * 2)).toBe(true);
  expect(fits(rows, 13 + 8 + 8 + 2 + 3 * 2 - 1)).toBe(false);
});

test("a cut text ends in an ellipsis and never splits a letter", () => {
  expect(cut("abcdef", 6)).toBe("abcdef");
  expect(cut("abcdef", 5)).toBe("abcd…");
  expect(cut("日本語", 5)).toBe("日本…");
  expect(cut("日本語", 4)).toBe("日…");
  expect(cut("👩‍👩‍👧👩‍👩‍👧", 3)).toBe("👩‍👩‍👧…");
});

test("colours do not count as width", () => {
  const paint = (text: string) => `\u001b[31m${text}\u001b[39m`;
  const [first = ""] = columns(
    [
      ["a", "b"],
      ["long", "c"],
    ],
    { paint },
  ).split("\n");
  expect(first).toBe("\u001b[31ma\u001b[39m     \u001b[31mb\u001b[39m");
});
