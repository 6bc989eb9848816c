import stringWidth from "string-width";

/** Columns shrink to the first width, so that a word stays whole, and if that is not enough to the second. */
const floors = [12, 8];

/** Default number of spaces between columns. */
const defaultGap = 2;

export interface ColumnOptions {
  /** Spaces between columns. Default: 2. */
  gap?: number;
  /** Longest line. Columns shrink to fit, the widest first, and never the first column. Default: unlimited. */
  width?: number | undefined;
  /** Adds colour to a cell's text, which must stay as wide. Default: none. */
  paint?: (text: string, row: number, column: number) => string;
}

/** Formats rows of texts as aligned columns, by the width that a terminal shows. */
export function columns(rows: readonly (readonly string[])[], options: ColumnOptions = {}): string {
  const { gap = defaultGap, width = Infinity, paint = (text: string) => text } = options;
  const widest = widestCells(rows);
  const widths = fitting(widest, width - gap * (widest.length - 1));
  const lines = rows.map((row, rowIndex) =>
    row.map((cell, column) => {
      const text = cut(cell, widths[column] ?? 0);
      return `${paint(text, rowIndex, column)}${" ".repeat((widths[column] ?? 0) - stringWidth(text))}`;
    }),
  );
  return lines.map((cells) => cells.join(" ".repeat(gap)).trimEnd()).join("\n");
}

/** True when columns of these rows, each wide enough to be read, fit into the width. */
export function fits(rows: readonly (readonly string[])[], width: number): boolean {
  const widths = fitting(widestCells(rows), 0);
  return widths.reduce((total, one) => total + one, 0) + defaultGap * (widths.length - 1) <= width;
}

/** Width of the widest cell of each column. */
const widestCells = (rows: readonly (readonly string[])[]): number[] =>
  Array.from({ length: Math.max(0, ...rows.map((row) => row.length)) }, (_, column) =>
    Math.max(0, ...rows.map((row) => stringWidth(row[column] ?? ""))),
  );

/** Takes from the widest column, again and again, until all fit or all are narrow. */
function fitting(widest: readonly number[], room: number): number[] {
  const widths = [...widest];
  const widestAt = () => widths.reduce((best, width, at) => (at > 0 && width > (widths[best] ?? 0) ? at : best), 1);
  for (const floor of floors) {
    let over = widths.reduce((total, width) => total + width, 0) - room;
    for (let at = widestAt(); over > 0 && (widths[at] ?? 0) > floor; at = widestAt(), over -= 1) {
      widths[at] = (widths[at] ?? 0) - 1;
    }
  }
  return widths;
}

const letters = new Intl.Segmenter();

/** Shortens a text to a display width; an ellipsis marks the end that was cut off. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const { segment } of letters.segment(text)) {
    used += stringWidth(segment);
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…`;
}
