import type Big from "big.js";
import { isPrintable } from "./fields.ts";
import type { Order } from "./order.ts";

/** Functions that format the numbers and dates of one invoice. */
export interface Formats {
  /** An amount with the currency's number of decimals, such as "1.234,50 €". */
  money: (amount: Big) => string;
  /** A price with all its decimals, such as "0,0325 €". */
  price: (amount: string) => string;
  quantity: (quantity: string) => string;
  /** "19" as "19 %". */
  percent: (percent: string) => string;
  /** "2026-04-07" as "7 April 2026". */
  date: (day: string) => string;
}

/** Regions that use the paper size Letter, from CLDR. All others use A4. */
const letterRegions = new Set("BZ CA CL CO CR GT MX NI PA PH PR SV US VE".split(" "));

/** The usual paper size of the locale's region. */
export const paperOf = (locale: string): "A4" | "LETTER" =>
  letterRegions.has(new Intl.Locale(locale).maximize().region ?? "") ? "LETTER" : "A4";

/** Replaces narrow spaces, which the font does not have, by no-break spaces. */
const plainSpaces = (text: string) => text.replace(/[\u2000-\u200A\u202F]/gu, "\u00A0");

const exact = (decimal: string) => decimal as Intl.StringNumericLiteral;

function formatsOf(locale: string, currency: string, currencyDisplay: "symbol" | "code"): Formats {
  const common = { numberingSystem: "latn", signDisplay: "negative" } as const;
  const asMoney = { ...common, style: "currency", currency, currencyDisplay } as const;
  const money = new Intl.NumberFormat(locale, asMoney);
  const price = new Intl.NumberFormat(locale, { ...asMoney, maximumFractionDigits: 6 });
  const quantity = new Intl.NumberFormat(locale, { ...common, maximumFractionDigits: 4 });
  const percent = new Intl.NumberFormat(locale, { ...common, style: "percent", maximumFractionDigits: 4 });
  const date = new Intl.DateTimeFormat(locale, {
    dateStyle: "long",
    timeZone: "UTC",
    calendar: "gregory",
    numberingSystem: "latn",
  });
  return {
    money: (amount) => plainSpaces(money.format(exact(amount.toFixed()))),
    price: (amount) => plainSpaces(price.format(exact(amount))),
    quantity: (amount) => plainSpaces(quantity.format(exact(amount))),
    percent: (amount) => plainSpaces(percent.format(exact(`${amount}e-2`))),
    date: (day) => plainSpaces(date.format(new Date(`${day}T00:00:00Z`))),
  };
}

const fitsFont = (formats: Formats) =>
  [formats.price("-1234567.5"), formats.percent("5.5"), formats.date("2026-12-31"), formats.date("2026-05-01")].every(
    isPrintable,
  );

/**
 * The formats of the order's locale. If the font does not have the currency's symbol, amounts have the currency's code.
 * If the font does not have the locale's script, the formats are English.
 */
export function formatsFor({ locale, currency }: Pick<Order, "locale" | "currency">): Formats {
  for (const tag of [locale, "en-GB"]) {
    for (const display of ["symbol", "code"] as const) {
      const formats = formatsOf(tag, currency, display);
      if (fitsFont(formats)) return formats;
    }
  }
  throw new Error(`The invoice's font cannot print amounts in ${currency}.`);
}
