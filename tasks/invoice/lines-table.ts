import type { Content, CustomTableLayout, TableCell } from "pdfmake/interfaces.js";
import type { OrderLine } from "./order.ts";
import { colors, roomFor, type Sheet } from "./sheet.ts";
import type { LineTotal } from "./totals.ts";

const gap = 10;
const headingSize = 8;

const layout: CustomTableLayout = {
  hLineWidth: (index, { table }) => {
    if (index === 0) return 0;
    return index === 1 || index === table.body.length ? 0.9 : 0.5;
  },
  hLineColor: (index, { table }) => (index === 1 || index === table.body.length ? colors.accent : colors.rule),
  vLineWidth: () => 0,
  paddingLeft: (column) => (column === 0 ? 0 : gap),
  paddingRight: () => 0,
  paddingTop: () => 4.5,
  paddingBottom: () => 4.5,
};

/** A column of short texts, one text for each line of the order. */
interface Column {
  title: string;
  cells: string[];
}

/** The columns to the right of the description. Discount and tax have a column only if the order has any. */
function figures({ order, totals, labels, formats }: Sheet): Column[] {
  const percent = (value: string | undefined) => (value === undefined ? "" : formats.percent(value));
  const column = (title: string, cellOf: (total: LineTotal) => string): Column => ({
    title,
    cells: totals.lines.map(cellOf),
  });
  const hasDiscount = order.lines.some((line) => line.discount_percent !== undefined);
  const hasTax = totals.rates.length > 0;
  return [
    column(labels.quantity, ({ line }) => `${formats.quantity(line.quantity)} ${line.unit ?? ""}`.trim()),
    column(labels.unitPrice, ({ line }) => formats.price(line.unit_price)),
    ...(hasDiscount ? [column(labels.discount, ({ line }) => percent(line.discount_percent))] : []),
    ...(hasTax ? [column(labels.tax, (total) => percent(total.percent))] : []),
    column(labels.amount, ({ net }) => formats.money(net)),
  ];
}

const widest = (texts: string[], fontSize: number) => Math.max(...texts.map((text) => roomFor(text, fontSize)));

/**
 * Column widths. The description gets the rest of the page's width. If that is too narrow, the table gets a smaller
 * font.
 */
function measure({ width }: Sheet, columns: Column[]) {
  const at = (fontSize: number) => {
    const widths = columns.map(({ title, cells }) => {
      const heading = title.length <= 12 ? [title] : title.split(" ");
      return Math.max(widest(cells, fontSize), widest(heading, headingSize));
    });
    const description = width - widths.reduce((sum, each) => sum + each, 0) - gap * columns.length;
    return { fontSize, widths, description };
  };
  const usual = at(9);
  return usual.description >= 130 ? usual : at(7);
}

const describe = ({ description, details }: OrderLine, fontSize: number): TableCell => ({
  stack: [description, ...(details ? [{ text: details, style: "note", fontSize: fontSize - 1 }] : [])],
});

/** The order's lines, with the headings on every page. A page break never divides a line. */
export function linesTable(sheet: Sheet): Content {
  const { order, labels } = sheet;
  const positions = { title: labels.position, cells: order.lines.map((_, index) => String(index + 1)) };
  const columns = figures(sheet);
  const { fontSize, widths, description } = measure(sheet, [positions, ...columns]);
  const [positionWidth = 0, ...figureWidths] = widths;

  const headings: TableCell[] = [
    { text: positions.title, style: "heading" },
    { text: labels.description, style: "heading" },
    ...columns.map(({ title }): TableCell => ({ text: title, style: "heading", alignment: "right" })),
  ];
  const rows = order.lines.map((line, index): TableCell[] => [
    { text: positions.cells[index] ?? "", color: colors.muted },
    describe(line, fontSize),
    ...columns.map(({ cells }): TableCell => ({ text: cells[index] ?? "", alignment: "right" })),
  ]);
  return {
    fontSize,
    layout,
    table: {
      headerRows: 1,
      keepWithHeaderRows: 1,
      dontBreakRows: true,
      widths: [positionWidth, description, ...figureWidths],
      body: [headings, ...rows],
    },
  };
}
