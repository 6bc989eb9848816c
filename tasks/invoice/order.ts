import Big from "big.js";
import * as z from "zod";
import { decimal, paragraph, text } from "./fields.ts";
import { logo } from "./logo.ts";

/** The largest amount of one line, in the order's currency. */
const largestLineAmount = 1_000_000_000_000;
/** Maximum number of characters in all lines together. With more, the PDF could exceed the maximum size of a result. */
const maxLineText = 40_000;
/** Maximum number of tax rates. More do not fit into the totals block. */
const maxTaxRates = 12;

const percent = decimal({ max: 100, places: 4 });

const isCurrency = (code: string) => Intl.supportedValuesOf("currency").includes(code);

function isLocale(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length === 1;
  } catch {
    return false;
  }
}

/**
 * Checks an IBAN by ISO 13616: with the first four characters at the end and letters as numbers, the number modulo 97
 * is 1.
 */
function isIban(iban: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z\d]{11,30}$/u.test(iban)) return false;
  const digits = `${iban.slice(4)}${iban.slice(0, 4)}`.replace(/[A-Z]/gu, (letter) =>
    String(Number.parseInt(letter, 36)),
  );
  return BigInt(digits) % 97n === 1n;
}

const party = z.strictObject({
  name: text(100),
  /** Street, town, country: one entry for each printed line. */
  address: z.array(text(100)).min(1).max(6),
  vat_id: text(30).optional(),
  tax_id: text(30).optional(),
});

const seller = party.extend({
  email: z.email().max(100).optional(),
  phone: text(40).optional(),
  website: text(100).optional(),
  /** The entry in the trade register, for example "HRB 12345 B, Amtsgericht Charlottenburg". */
  registration: text(100).optional(),
  /** Logo for the letterhead: a PNG or JPEG as a data URL. */
  logo: logo.optional(),
});

const buyer = party.extend({
  /** A person or department at the buyer. */
  contact: text(100).optional(),
  customer_number: text(40).optional(),
});

const line = z.strictObject({
  description: text(200),
  /** Smaller text below the description. */
  details: paragraph(400, 10).optional(),
  /** Default: 1. Negative for returned goods. */
  quantity: decimal({ min: -1_000_000, max: 1_000_000, places: 4 }).default("1"),
  /** Unit of the quantity, such as "h", "kg", "pcs". Default: none. */
  unit: text(12).optional(),
  /** Net price of one unit in the order's currency, before discount. */
  unit_price: decimal({ max: 1_000_000_000, places: 6 }),
  discount_percent: percent.optional(),
  /** Default: the order's `tax.percent`. */
  tax_percent: percent.optional(),
});

const tax = z.strictObject({
  /** Rate of the lines without a `tax_percent`. Absent: each line has its own rate, or no line has one. */
  percent: percent.optional(),
  /** Name of the tax, such as "GST", "MwSt.". Default: by locale ("VAT", "USt.", "TVA", "IVA"). */
  name: text(20).optional(),
  /** A sentence below the totals, for example the reason of an exemption. */
  note: paragraph(300, 4).optional(),
});

/** The name of a host, as `z.regexes.domain`: to name that one loads all patterns of zod. */
const hostname = /^(?=.{1,253}$)([a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)+[a-zA-Z]{2,63}$/;

/** An https URL without a user name, in ASCII. */
const paymentUrl = z
  .url({ protocol: /^https$/, hostname, error: "expected an https URL" })
  .max(300)
  .regex(/^https:\/\/[^@/?#]+(?:[/?#][\x21-\x7e]*)?$/u, "expected an https URL without a user name, in ASCII");

const payment = z.strictObject({
  /** For example "Payable within 14 days without deduction." */
  terms: paragraph(300, 4).optional(),
  /** Default: the seller's name. */
  account_holder: text(70).optional(),
  iban: z
    .string()
    .overwrite((iban) => iban.replace(/\s/gu, "").toUpperCase())
    .refine(isIban, { error: "expected an IBAN with correct check digits" })
    .optional(),
  bic: z
    .string()
    .regex(/^[A-Z]{6}[A-Z\d]{2}([A-Z\d]{3})?$/u, "expected a BIC such as COBADEFFXXX")
    .optional(),
  bank: text(100).optional(),
  account_number: text(34).optional(),
  routing_number: text(20).optional(),
  /** Reference for the buyer's transfer. Default: the invoice's number. */
  reference: text(140).optional(),
  /** Page on which the buyer can pay. */
  url: paymentUrl.optional(),
  /** True: a QR code of `url`, too. Default: false. */
  qr: z.boolean().default(false),
});

type Refuse = (path: (string | number)[], message: string) => void;
type DraftLine = z.output<typeof line>;

function checkLine(each: DraftLine, index: number, refuse: Refuse) {
  const amount = new Big(each.quantity).times(each.unit_price).abs();
  if (amount.gt(largestLineAmount)) {
    refuse(
      ["lines", index],
      `expected quantity times unit_price of at most ${largestLineAmount}, got ${amount.toFixed()}`,
    );
  }
}

function checkText(lines: readonly DraftLine[], refuse: Refuse) {
  const length = lines.reduce((sum, { description, details = "" }) => sum + description.length + details.length, 0);
  if (length > maxLineText) {
    refuse(["lines"], `expected at most ${maxLineText} characters in all lines, got ${length}`);
  }
}

/** Checks that either no line or every line has a tax rate, and that the rates fit into the totals block. */
function checkRates(lines: readonly DraftLine[], common: string | undefined, refuse: Refuse) {
  const rates = new Set(lines.map((each) => each.tax_percent ?? common));
  if (rates.size > maxTaxRates) {
    refuse(["lines"], `expected at most ${maxTaxRates} different tax rates, got ${rates.size}`);
  }
  if (!rates.has(undefined) || rates.size === 1) return;
  const index = lines.findIndex((each) => each.tax_percent === undefined);
  refuse(
    ["lines", index, "tax_percent"],
    "expected a tax rate here, as other lines have one, or tax.percent for all lines",
  );
}

/** Input of `invoice.generate`: an order. Amounts are exact decimals, prices are net. */
export const orderSchema = z
  .strictObject({
    /** The invoice's number. Absent: the invoice shows no number. */
    number: text(40).optional(),
    /** Default: the current day in UTC. */
    issue_date: z.iso.date().optional(),
    due_date: z.iso.date().optional(),
    /** Day on which the goods or services were delivered. */
    delivery_date: z.iso.date().optional(),
    /** The buyer's own reference, such as a purchase order's number. */
    buyer_reference: text(60).optional(),
    /** BCP 47 tag, for the labels' language, the format of numbers and dates, and the paper size. Default: `en-US`. */
    locale: z.string().max(35).refine(isLocale, { error: "expected a locale such as de-DE" }).default("en-US"),
    /** ISO 4217 code. */
    currency: z.string().refine(isCurrency, { error: "expected an ISO 4217 currency code such as EUR" }),
    seller,
    buyer,
    lines: z.array(line).min(1).max(500),
    /** Absent, with no rate on any line: the invoice shows no tax. */
    tax: tax.optional(),
    payment: payment.optional(),
    notes: paragraph(2000, 30).optional(),
  })
  .check(({ value, issues }) => {
    const refuse: Refuse = (path, message) => issues.push({ code: "custom", input: value, path, message });
    const { issue_date: issued, due_date: due } = value;
    if (issued && due && due < issued)
      refuse(["due_date"], `expected issue_date (${issued}) or a later day, got ${due}`);
    value.lines.forEach((each, index) => {
      checkLine(each, index, refuse);
    });
    if (value.payment?.qr === true && value.payment.url === undefined) {
      refuse(["payment", "url"], "expected a URL for the QR code");
    }
    checkText(value.lines, refuse);
    checkRates(value.lines, value.tax?.percent, refuse);
  });

export type Order = z.output<typeof orderSchema>;
export type OrderLine = Order["lines"][number];
