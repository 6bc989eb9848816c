import type { Content } from "pdfmake/interfaces.js";
import { colors, type Fact, plainTable, present, roomFor, type Sheet } from "./sheet.ts";

const titleSize = 24;
const gap = 24;

/** The seller on the left, the document's name on the right, and a horizontal line below. */
export function letterhead({ order, labels, width }: Sheet): Content {
  const { seller } = order;
  const titleWidth = roomFor(labels.invoice, titleSize);
  return [
    {
      columnGap: gap,
      columns: [
        {
          width: width - gap - titleWidth,
          stack: [
            { text: seller.name, fontSize: 15, bold: true, color: colors.accent, margin: [0, 0, 0, 4] },
            { text: seller.address.join("\n"), fontSize: 8.5, color: colors.muted },
          ],
        },
        { width: titleWidth, text: labels.invoice, style: "title", fontSize: titleSize, alignment: "right" },
      ],
    },
    {
      canvas: [{ type: "line", x1: 0, y1: 0, x2: width, y2: 0, lineWidth: 1.5, lineColor: colors.accent }],
      margin: [0, 14, 0, 18],
    },
  ];
}

function billTo({ order, labels }: Sheet): Content[] {
  const { buyer } = order;
  const ids = present([
    [labels.vatId, buyer.vat_id],
    [labels.taxId, buyer.tax_id],
  ]);
  return [
    { text: labels.billTo, style: "caption" },
    { text: buyer.name, bold: true, fontSize: 10.5 },
    ...(buyer.contact ? [buyer.contact] : []),
    buyer.address.join("\n"),
    ...ids.map(([label, id]): Content => ({ text: `${label} ${id}`, color: colors.muted, margin: [0, 3, 0, 0] })),
  ];
}

function facts({ order, labels, formats }: Sheet): Fact[] {
  const day = (date: string | undefined) => date && formats.date(date);
  return present([
    [labels.number, order.number],
    [labels.issueDate, day(order.issue_date)],
    [labels.deliveryDate, day(order.delivery_date)],
    [labels.dueDate, day(order.due_date)],
    [labels.customerNumber, order.buyer.customer_number],
    [labels.buyerReference, order.buyer_reference],
  ]);
}

/** The buyer on the left, numbers and dates on the right. */
export function addresses(sheet: Sheet): Content {
  const { width, labels } = sheet;
  const labelWidth = 106;
  const valueWidth = 120;
  const body = facts(sheet).map(([label, value]): Content[] => [
    { text: label, color: colors.muted },
    { text: value, alignment: "right", bold: label === labels.dueDate },
  ]);
  return {
    columnGap: gap,
    columns: [
      { width: width - gap - labelWidth - valueWidth, stack: billTo(sheet) },
      { layout: plainTable, table: { widths: [labelWidth, valueWidth], body } },
    ],
    margin: [0, 0, 0, 20],
  };
}
