import type { Column, Content, DynamicContent, TDocumentDefinitions } from "pdfmake/interfaces.js";
import { notesBlock, paymentBlock, totalsBlock } from "./closing.ts";
import { addresses, letterhead } from "./letterhead.ts";
import { linesTable } from "./lines-table.ts";
import type { Order } from "./order.ts";
import { colors, type Sheet, sheetOf, sideMargin } from "./sheet.ts";

const titleOf = ({ order, labels }: Sheet) => `${labels.invoice} ${order.number ?? ""}`.trim();

/** Header from the second page on: the seller's name and the invoice's number. */
function runningHeader(sheet: Sheet): DynamicContent {
  const columns: Column[] = [
    { width: sheet.width * 0.6, text: sheet.order.seller.name },
    { width: sheet.width * 0.4, text: titleOf(sheet), alignment: "right" },
  ];
  const header: Content = { columns, fontSize: 8, color: colors.muted, margin: [sideMargin, 26, sideMargin, 0] };
  return (page) => (page === 1 ? null : header);
}

/** A horizontal line, and below it the seller's details and the page number. */
function footer({ order, labels, width }: Sheet): DynamicContent {
  const { name, registration, vat_id, tax_id, email, phone, website } = order.seller;
  const identity = [name, registration, vat_id && `${labels.vatId} ${vat_id}`, tax_id && `${labels.taxId} ${tax_id}`];
  const text = [identity, [email, phone, website]].map((parts) => parts.filter(Boolean).join("  ·  ")).join("\n");
  const pageWidth = 80;
  return (page, count) => ({
    margin: [sideMargin, 10, sideMargin, 0],
    fontSize: 7.5,
    color: colors.muted,
    stack: [
      {
        canvas: [{ type: "line", x1: 0, y1: 0, x2: width, y2: 0, lineWidth: 0.5, lineColor: colors.rule }],
        margin: [0, 0, 0, 7],
      },
      {
        columns: [
          { width: width - pageWidth, text },
          { width: pageWidth, text: labels.page(page, count), alignment: "right" },
        ],
      },
    ],
  });
}

/** The invoice as a document definition for pdfmake. The same order always results in the same pages. */
export function invoiceDocument(order: Order & { issue_date: string }): TDocumentDefinitions {
  const sheet = sheetOf(order);
  return {
    version: "1.7",
    language: order.locale,
    displayTitle: true,
    info: {
      title: titleOf(sheet),
      author: order.seller.name,
      subject: order.buyer.name,
      creator: "Offload",
      creationDate: new Date(`${order.issue_date}T00:00:00Z`),
    },
    pageSize: sheet.paper,
    pageMargins: [sideMargin, 48, sideMargin, 66],
    defaultStyle: { font: "Roboto", fontSize: 9, lineHeight: 1.2, color: colors.ink },
    styles: {
      title: { bold: true, color: colors.accent, lineHeight: 1 },
      caption: { fontSize: 8, bold: true, color: colors.accent, margin: [0, 0, 0, 4] },
      heading: { fontSize: 8, bold: true, color: colors.accent },
      note: { fontSize: 8, color: colors.muted, margin: [0, 1.5, 0, 0] },
    },
    header: runningHeader(sheet),
    footer: footer(sheet),
    content: [
      letterhead(sheet),
      addresses(sheet),
      linesTable(sheet),
      totalsBlock(sheet),
      paymentBlock(sheet),
      notesBlock(sheet),
    ],
  };
}
