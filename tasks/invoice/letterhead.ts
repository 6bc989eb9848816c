import type { Content } from "pdfmake/interfaces.js";
import { colors, type Fact, plainTable, present, roomFor, type Sheet } from "./sheet.ts";

const titleSize = 24;
const gap = 24;
/** Maximum width and height of the logo, in points. */
const logoSize: [width: number, height: number] = [180, 42];

/** The logo, scaled so that it fits. */
const logoOf = ({ order }: Sheet): Content[] =>
  order.seller.logo === undefined ? [] : [{ image: order.seller.logo, fit: logoSize, margin: [0, 0, 0, 8] }];

/** The seller with its logo on the left, the document's name on the right, and a horizontal line below. */
export function letterhead(sheet: Sheet): Content {
  const { order, labels, width } = sheet;
  const { seller } = order;
  const titleWidth = roomFor(labels.invoice, titleSize);
  return [
    {
      columnGap: gap,
      columns: [
        {
          width: width - gap - titleWidth,
          stack: [
            ...logoOf(sheet),
            {
              text: seller.name,
              fontSize: seller.logo === undefined ? 15 : 11,
              bold: true,
              color: colors.accent,
              margin: [0, 0, 0, 4],
            },
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
