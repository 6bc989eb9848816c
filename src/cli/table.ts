import Table from "cli-table3";
import { plain } from "./terminal.ts";

/** Longest text of a cell, in characters. The JSON output has the full text. */
const longestCell = 60;

const short = (text: string): string => (text.length > longestCell ? `${text.slice(0, longestCell - 1)}…` : text);

const noBorders = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
};

const style = { "padding-left": 0, "padding-right": 0, head: [], border: [] };

/** Formats rows under headings: aligned columns without borders, which people can read and other tools can split. */
export function table(headings: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const lines = new Table({ head: headings.map((heading) => heading.toUpperCase()), chars: noBorders, style });
  for (const row of rows) lines.push(row.map((cell) => short(plain(cell))));
  return trimmed(lines.toString());
}

/** Formats names and values, one pair a line. */
export function fields(pairs: readonly (readonly [name: string, value: unknown])[]): string {
  const lines = new Table({ chars: noBorders, style });
  for (const [name, value] of pairs) lines.push([name, plain(value)]);
  return trimmed(lines.toString());
}

const trimmed = (text: string): string =>
  text
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
