import type { Column, Content, CustomTableLayout, TableCell } from "pdfmake/interfaces.js";
import { girocode } from "./girocode.ts";
import { colors, type Fact, plainTable, present, roomFor, type Sheet } from "./sheet.ts";

const totalSize = 12;
const gap = 24;
const isLast = (row: number, body: unknown[]) => row === body.length - 1;

const totalsLayout: CustomTableLayout = {
  hLineWidth: (row, { table }) => (row > 0 && isLast(row, table.body) ? 0.9 : 0),
  hLineColor: () => colors.accent,
  vLineWidth: () => 0,
  paddingLeft: () => 0,
  paddingRight: () => 0,
  paddingTop: (row, { table }) => (isLast(row, table.body) ? 6 : 1.5),
  paddingBottom: () => 2.5,
};

/** Net sum, tax per rate and total on the right, the tax note on the left. A page break never divides the block. */
export function totalsBlock({ order, totals, labels, formats, width }: Sheet): Content {
  const row = (label: string, amount: string): TableCell[] => [
    { text: label, color: colors.muted },
    { text: amount, alignment: "right" },
  ];
  const taxes = totals.rates.map(({ percent, net, tax }) =>
    row(`${labels.tax} ${formats.percent(percent)} ${labels.on} ${formats.money(net)}`, formats.money(tax)),
  );
  const total = formats.money(totals.total);
  const body: TableCell[][] = [
    ...(taxes.length > 0 ? [row(labels.net, formats.money(totals.net)), ...taxes] : []),
    [
      { text: labels.total, style: "title", fontSize: totalSize },
      { text: total, style: "title", fontSize: totalSize, alignment: "right" },
    ],
  ];
  const amountWidth = Math.max(
    70,
    roomFor(total, totalSize),
    ...totals.rates.map(({ net }) => roomFor(formats.money(net), 9)),
  );
  const blockWidth = width * 0.54;
  return {
    unbreakable: true,
    margin: [0, 9, 0, 0],
    columnGap: gap,
    columns: [
      { width: width - gap - blockWidth, text: order.tax?.note ?? "", style: "note" },
      { layout: totalsLayout, table: { widths: [blockWidth - amountWidth, amountWidth], body } },
    ],
  };
}

/** Groups of four characters, which people can read and compare. */
const inGroups = (code: string) => code.replace(/(.{4})(?=.)/gu, "$1 ");

function account({ order, labels }: Sheet): Fact[] {
  const { payment, seller, number } = order;
  if (!payment?.iban && !payment?.account_number) return [];
  return present([
    [labels.accountHolder, payment.account_holder ?? seller.name],
    ["IBAN", payment.iban && inGroups(payment.iban)],
    ["BIC", payment.bic],
    [labels.accountNumber, payment.account_number],
    [labels.routingNumber, payment.routing_number],
    [labels.bank, payment.bank],
    [labels.paymentReference, payment.reference ?? number],
  ]);
}

/** Width of a QR code in points: two points per module for a code of up to 57 modules. A GiroCode has 45 modules. */
const qrSize = 114;
/** Width of each of two codes, so that the account's values stay on one line. */
const smallQrSize = 92;

interface Code {
  text: string;
  caption: string;
}

const qrCode = ({ text, caption }: Code, size: number): Column => ({
  width: size,
  alignment: "right",
  stack: [
    { qr: text, eccLevel: "M", fit: size, foreground: colors.ink },
    { text: caption, fontSize: 7.5, color: colors.muted, margin: [0, 4, 0, 0] },
  ],
});

/** The QR codes: for SEPA transfers, and of the payment page. */
function codesOf({ order, totals, labels }: Sheet): Code[] {
  const transfer = girocode(order, totals);
  const { url, qr } = order.payment ?? {};
  return [
    ...(transfer === undefined ? [] : [{ text: transfer, caption: labels.scanToPay }]),
    ...(qr === true && url !== undefined ? [{ text: url, caption: labels.payOnline }] : []),
  ];
}

const linkOf = (url: string): Content => ({ text: url, link: url, color: colors.accent, decoration: "underline" });

/** Payment terms, account, payment page, and QR codes. A page break never divides the block. */
export function paymentBlock(sheet: Sheet): Content {
  const { order, labels, width } = sheet;
  const { terms, url } = order.payment ?? {};
  const label = (text: string): TableCell => ({ text, color: colors.muted });
  const body = account(sheet).map(([name, value]): TableCell[] => [label(name), value]);
  if (url !== undefined) body.push([label(labels.payOnline), linkOf(url)]);
  if (body.length === 0 && !terms) return [];
  const codes = codesOf(sheet);
  const codeSize = codes.length > 1 ? smallQrSize : qrSize;
  const detailsWidth = width - Math.max(1, codes.length) * (gap + codeSize);
  const labelWidth = codes.length > 1 ? 96 : 112;
  const details: Content[] = [
    { text: labels.payment, style: "caption" },
    ...(terms ? [{ text: terms, margin: [0, 0, 0, 6] } satisfies Content] : []),
    ...(body.length > 0
      ? [{ layout: plainTable, table: { widths: [labelWidth, detailsWidth - labelWidth], body } }]
      : []),
  ];
  return {
    unbreakable: true,
    margin: [0, 18, 0, 0],
    columnGap: gap,
    columns: [{ width: detailsWidth, stack: details }, ...codes.map((code) => qrCode(code, codeSize))],
  };
}

/** The order's notes. A page break never divides them; the schema limits their length so that they fit on a page. */
export function notesBlock({ order, labels, width }: Sheet): Content {
  if (!order.notes) return [];
  return {
    unbreakable: true,
    margin: [0, 18, 0, 0],
    columns: [{ width, stack: [{ text: labels.notes, style: "caption" }, order.notes] }],
  };
}
