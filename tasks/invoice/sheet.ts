import type { CustomTableLayout } from "pdfmake/interfaces.js";
import { type Formats, formatsFor, paperOf } from "./format.ts";
import { type Labels, labelsFor } from "./labels.ts";
import type { Order } from "./order.ts";
import { type Totals, totalsOf } from "./totals.ts";

/** The values from which all parts of one invoice are built. */
export interface Sheet {
  order: Order;
  totals: Totals;
  labels: Labels;
  formats: Formats;
  paper: "A4" | "LETTER";
  /** Width between the margins, in points. */
  width: number;
}

export const colors = { ink: "#1c2430", muted: "#667085", accent: "#1d4468", rule: "#d5dbe3" };

/** Left and right margin, in points. */
export const sideMargin = 50;

const paperWidths = { A4: 595.28, LETTER: 612 };

export function sheetOf(order: Order): Sheet {
  const paper = paperOf(order.locale);
  const labels = labelsFor(order.locale);
  return {
    order,
    totals: totalsOf(order),
    labels: { ...labels, tax: order.tax?.name ?? labels.tax },
    formats: formatsFor(order),
    paper,
    width: paperWidths[paper] - 2 * sideMargin,
  };
}

/** Maximum width of a character of the font, as a fraction of the font size. */
function widthOf(character: string): number {
  if (/[\d$€£+=]/u.test(character)) return 0.57;
  if (/[\s.,:;'’()|ijlI·-]/u.test(character)) return 0.36;
  if (/[%@MWmwЖЩШЮФ₽₹₺]/u.test(character)) return 1;
  return /\p{Lowercase}/u.test(character) ? 0.6 : 0.72;
}

/**
 * A width in points in which `text` fits on one line. Every column has a fixed width, from this function or as a
 * fraction of the page, because the PDF library breaks long words only in columns of fixed width.
 */
export const roomFor = (text: string, fontSize: number): number =>
  1 + fontSize * [...text].reduce((sum, character) => sum + widthOf(character), 0);

/** A table of labels and values, without lines. */
export const plainTable: CustomTableLayout = {
  hLineWidth: () => 0,
  vLineWidth: () => 0,
  paddingLeft: () => 0,
  paddingRight: () => 0,
  paddingTop: () => 0,
  paddingBottom: () => 1.5,
};

export type Fact = readonly [label: string, value: string];

/** The facts that have a value. */
export const present = (facts: (readonly [string, string | undefined])[]): Fact[] =>
  facts.filter((fact): fact is Fact => fact[1] !== undefined);
