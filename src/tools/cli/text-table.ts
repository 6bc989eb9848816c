import { columns, cut, fits } from "../../machine/columns.ts";
import { when } from "./age.ts";
import { type Colour, plain, type Terminal } from "./terminal.ts";

/** Longest text of a cell in a pipe. The JSON output has the full text. */
const longestCell = 60;

/** The place of a text. */
export interface Screen {
  terminal: Terminal;
  /** True when times are exact on a terminal, too. */
  utc?: boolean | undefined;
}

/** Colours of statuses, outcomes and states. Words that are left out have no colour. */
const colours: Readonly<Record<string, Colour>> = {
  completed: "green",
  active: "green",
  processing: "cyan",
  failed: "red",
  crashed: "red",
  timed_out: "red",
  retried: "yellow",
  cancelled: "yellow",
  expired: "yellow",
  revoked: "yellow",
  paused: "yellow",
};

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * Formats rows under headings: aligned columns without borders. On a terminal they fit its width, times are ages, and
 * statuses have colours. A terminal that is too narrow gets one block for each row. In a pipe times are exact and
 * nothing has a colour, so that other tools can split the lines.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly unknown[])[],
  { terminal, utc }: Screen,
): string {
  const { width } = terminal;
  const words = (cell: string) => (width !== undefined && !utc && isTime.test(cell) ? when(cell) : cell);
  const short = (cell: string) => (width === undefined ? cut(cell, longestCell) : cell);
  const head = headings.map((heading) => heading.toUpperCase());
  const body = rows.map((row) => row.map((cell) => short(words(plain(cell)))));
  const paint = (text: string, row: number, column: number) =>
    row === 0 ? text : painted(terminal, text, body[row - 1]?.[column]);
  if (width !== undefined && !fits([head, ...body], width)) return blocks(headings, body, terminal);
  return columns([head, ...body], { width, paint });
}

/** Columns of a table by their headings: the name of a field, or what is shown of an item. */
export type Columns<Item> = Readonly<Record<string, (keyof Item & string) | ((item: Item) => unknown)>>;

/** Formats things as a table. */
export function tableOf<Item>(items: readonly Item[], columns: Columns<Item>, screen: Screen): string {
  const cells = Object.values(columns);
  const rows = items.map((item) => cells.map((cell) => (typeof cell === "function" ? cell(item) : item[cell])));
  return table(Object.keys(columns), rows, screen);
}

/** Formats each row as a block of names and values, without the values that are missing. */
function blocks(headings: readonly string[], rows: readonly (readonly string[])[], terminal: Terminal): string {
  const widest = Math.max(...headings.map((heading) => heading.length));
  return rows
    .map((row) => {
      const pairs = row.map((cell, index) => [(headings[index] ?? "").padEnd(widest), cell]);
      const said = pairs.filter(([, cell]) => cell !== "-");
      const paint = (text: string, line: number, column: number) =>
        column === 1 ? painted(terminal, text, said[line]?.[1]) : text;
      return columns(said, { width: terminal.width, paint });
    })
    .join("\n\n");
}

/** Formats names and values, one pair a line. On a terminal a time is followed by its age. */
export function fields(pairs: readonly (readonly [string, unknown])[], { terminal, utc }: Screen): string {
  const worded = (value: string) =>
    terminal.width !== undefined && !utc && isTime.test(value) ? `${value} (${when(value)})` : value;
  const rows = pairs.map(([name, value]) => [name, worded(plain(value))]);
  const paint = (text: string, _: number, column: number) => (column === 1 ? painted(terminal, text) : text);
  return columns(rows, { paint });
}

/** Colours a cell by its word, of which `text` can be a part. */
function painted(terminal: Terminal, text: string, word = text): string {
  const colour = Object.hasOwn(colours, word) ? colours[word] : undefined;
  return colour === undefined ? text : terminal.colour(colour, text);
}

/** Formats the fields of an API object that are not null and not empty. */
export function describe(thing: object, screen: Screen): string {
  const said = Object.entries(thing).filter(([, value]) => value !== null && !isEmpty(value));
  const worded = said.map(
    ([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value] as const,
  );
  return fields(worded, screen);
}

const isEmpty = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;
