import Big from "big.js";
import * as z from "zod";
import { decimal, paragraph, text } from "./fields.ts";

/** The largest amount of one line, in the order's currency. */
const largestLineAmount = 1_000_000_000_000;
/** More text than this in all lines together could make a PDF larger than a result may be. */
const mostLineText = 40_000;
/** More tax rates than this do not fit the totals block. */
const mostTaxRates = 12;

const percent = decimal({ max: 100, places: 4 });

const isCurrency = (code: string) => Intl.supportedValuesOf("currency").includes(code);

function isLocale(tag: string): boolean {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length === 1;
  } catch {
    return false;
  }
}

/** ISO 13616: the country and check digits moved to the end, letters as numbers, leave 1 when divided by 97. */
function isIban(iban: string): boolean {
  if (!/^[A-Z]{2}\d{2}[A-Z\d]{11,30}$/u.test(iban)) return false;
  const digits = `${iban.slice(4)}${iban.slice(0, 4)}`.replace(/[A-Z]/gu, (letter) =>
    String(Number.parseInt(letter, 36)),
  );
  return BigInt(digits) % 97n === 1n;
}

const party = z.strictObject({
  name: text(100),
  /** Street, town, country: one entry per printed line. */
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
  /** Default: 1. Negative for what was returned. */
  quantity: decimal({ min: -1_000_000, max: 1_000_000, places: 4 }).default("1"),
  /** What is counted: "h", "kg", "pcs". Default: none. */
  unit: text(12).optional(),
  /** Net price of one unit in the order's currency, before discount. */
  unit_price: decimal({ max: 1_000_000_000, places: 6 }),
  discount_percent: percent.optional(),
  /** Default: the order's `tax.percent`. */
  tax_percent: percent.optional(),
});

const tax = z.strictObject({
  /** The rate of every line that names none. Default: lines name their own. */
  percent: percent.optional(),
  /** What the tax is called: "GST", "MwSt.". Default: by locale ("VAT", "USt.", "TVA", "IVA"). */
  name: text(20).optional(),
  /** A sentence below the totals, for example the reason of an exemption. */
  note: paragraph(300, 4).optional(),
});

const payment = z.strictObject({
  /** For example "Payable within 14 days without deduction." */
  terms: paragraph(300, 4).optional(),
  /** Default: the seller's name. */
  account_holder: text(70).optional(),
  iban: z
    .string()
    .overwrite((iban) => iban.replace(/\s/gu, "").toUpperCase())
    .refine(isIban, { error: "expected an IBAN with right check digits" })
    .optional(),
  bic: z
    .string()
    .regex(/^[A-Z]{6}[A-Z\d]{2}([A-Z\d]{3})?$/u, "expected a BIC such as COBADEFFXXX")
    .optional(),
  bank: text(100).optional(),
  account_number: text(34).optional(),
  routing_number: text(20).optional(),
  /** What the buyer writes into the transfer. Default: the invoice's number. */
  reference: text(140).optional(),
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
  if (length > mostLineText) {
    refuse(["lines"], `expected at most ${mostLineText} characters in all lines, got ${length}`);
  }
}

/** Either no line is taxed, or every line has a rate; and the rates fit into the totals block. */
function checkRates(lines: readonly DraftLine[], common: string | undefined, refuse: Refuse) {
  const rates = new Set(lines.map((each) => each.tax_percent ?? common));
  if (rates.size > mostTaxRates) {
    refuse(["lines"], `expected at most ${mostTaxRates} different tax rates, got ${rates.size}`);
  }
  if (!rates.has(undefined) || rates.size === 1) return;
  const index = lines.findIndex((each) => each.tax_percent === undefined);
  refuse(
    ["lines", index, "tax_percent"],
    "expected a tax rate here, as other lines have one, or tax.percent for all lines",
  );
}

/** What `invoice.generate` takes: an order, with amounts as exact decimals and net prices. */
export const orderSchema = z
  .strictObject({
    /** The invoice's number. Default: none is printed. */
    number: text(40).optional(),
    /** Default: the day the invoice is made, in UTC. */
    issue_date: z.iso.date().optional(),
    due_date: z.iso.date().optional(),
    /** When the goods or services were delivered. */
    delivery_date: z.iso.date().optional(),
    /** The buyer's own reference, such as a purchase order's number. */
    buyer_reference: text(60).optional(),
    /** BCP 47 tag: language of the labels, form of numbers and dates, size of the paper. Default: `en-US`. */
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
      refuse(["due_date"], `expected a day from issue_date (${issued}) on, got ${due}`);
    value.lines.forEach((each, index) => {
      checkLine(each, index, refuse);
    });
    checkText(value.lines, refuse);
    checkRates(value.lines, value.tax?.percent, refuse);
  });

export type Order = z.output<typeof orderSchema>;
export type OrderLine = Order["lines"][number];
