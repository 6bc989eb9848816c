import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isPrintable } from "../../tasks/invoice/fields.ts";
import { formatsFor, paperOf } from "../../tasks/invoice/format.ts";
import { girocode } from "../../tasks/invoice/girocode.ts";
import { labelsFor } from "../../tasks/invoice/labels.ts";
import { orderSchema } from "../../tasks/invoice/order.ts";
import { totalsOf } from "../../tasks/invoice/totals.ts";
import fc from "../support/fast-check.ts";

const example = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../examples/${name}`, import.meta.url), "utf8"));

const line = { description: "Thing", unit_price: "10.00" };
const small = {
  issue_date: "2026-04-07",
  currency: "EUR",
  seller: { name: "Seller", address: ["A street"] },
  buyer: { name: "Buyer", address: ["B street"] },
  lines: [line],
};
const oneLine = (change: object) => ({ lines: [{ ...line, ...change }] });
const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

const refusals = (order: unknown) =>
  orderSchema.safeParse(order).error?.issues.map(({ path, message }) => `${path.join("/")}: ${message}`) ?? [];

describe("the totals", () => {
  const totals = (order: unknown) => totalsOf(orderSchema.parse(order));

  it("totals round half away from zero, in the currency's decimals", () => {
    const net = (currency: string, unit_price: string, quantity = "1") =>
      totals({ ...small, currency, lines: [{ description: "x", unit_price, quantity }] }).net.toFixed();
    expect(net("EUR", "1.005")).toBe("1.01");
    expect(net("EUR", "1.005", "-1")).toBe("-1.01");
    expect(net("JPY", "0.5")).toBe("1");
    expect(net("KWD", "1.0005")).toBe("1.001");
  });

  it("a JSON number is read as the decimal it was written as", () => {
    expect(totals({ ...small, lines: [{ description: "x", unit_price: 1.005 }] }).net.toFixed()).toBe("1.01");
  });

  it("the tax is rounded once per rate, not per line", () => {
    const lines = Array.from({ length: 3 }, () => ({ description: "x", unit_price: "0.03", tax_percent: 19 }));
    expect(totals({ ...small, lines }).rates.map(({ tax }) => tax.toFixed())).toEqual(["0.02"]);
  });

  it("equal rates are put together, however they are written, highest first", () => {
    const rated = (tax_percent: number | string) => ({ description: "x", unit_price: "1", tax_percent });
    const { rates } = totals({ ...small, lines: [rated(7), rated("19.00"), rated("19"), rated(0)] });
    expect(rates.map(({ percent, net }) => [percent, net.toFixed()])).toEqual([
      ["19", "2"],
      ["7", "1"],
      ["0", "1"],
    ]);
  });

  it("totals are exact and add up, for any order", () => {
    const scaled = (units: number, places: number) => {
      const digits = String(Math.abs(units)).padStart(places + 1, "0");
      return `${units < 0 ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`;
    };
    const roundedShare = (amount: bigint, divisor: bigint) => {
      const size = amount < 0n ? -amount : amount;
      const units = (2n * size + divisor) / (2n * divisor);
      return amount < 0n ? -units : units;
    };
    const line = fc.record({
      quantity: fc.integer({ min: -10_000_000, max: 10_000_000 }),
      price: fc.integer({ min: 0, max: 100_000_000_000 }),
      discount: fc.integer({ min: 0, max: 1_000_000 }),
      rate: fc.constantFrom(0, 55_000, 70_000, 88_750, 190_000),
    });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 30 }), (lines) => {
        const actual = totals({
          ...small,
          lines: lines.map(({ quantity, price, discount, rate }) => ({
            description: "x",
            quantity: scaled(quantity, 4),
            unit_price: scaled(price, 6),
            discount_percent: scaled(discount, 4),
            tax_percent: scaled(rate, 4),
          })),
        });
        const netCents = lines.map(({ quantity, price, discount }) =>
          roundedShare(BigInt(quantity) * BigInt(price) * BigInt(1_000_000 - discount), 10n ** 14n),
        );
        const centsByRate = new Map<number, bigint>();
        lines.forEach(({ rate }, index) => {
          centsByRate.set(rate, (centsByRate.get(rate) ?? 0n) + (netCents[index] ?? 0n));
        });
        const taxes = [...centsByRate].map(([rate, cents]) => roundedShare(cents * BigInt(rate), 1_000_000n));
        const sum = (amounts: bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);

        expect(actual.lines.map(({ net }) => BigInt(net.times(100).toFixed()))).toEqual(netCents);
        expect(BigInt(actual.net.times(100).toFixed())).toBe(sum(netCents));
        expect(BigInt(actual.total.times(100).toFixed())).toBe(sum(netCents) + sum(taxes));
        expect(actual.rates.reduce((total, { net }) => total.plus(net), actual.net.times(0)).eq(actual.net)).toBe(true);
      }),
    );
  });
});

describe("an order", () => {
  const price = "expected a decimal number from 0 to 1000000000 with at most 6 decimal places";
  const percent = "expected a decimal number from 0 to 100 with at most 4 decimal places";
  const refused: [reason: string, change: object, refusal: string][] = [
    ["unknown fields", { colour: "red" }, ': Unrecognized key: "colour"'],
    ["no lines", { lines: [] }, "lines: Too small: expected array to have >=1 items"],
    ["over 500 lines", { lines: times(501, () => line) }, "lines: Too big: expected array to have <=500 items"],
    ["a decimal comma", oneLine({ unit_price: "1,50" }), `lines/0/unit_price: ${price}`],
    ["a price of another type", oneLine({ unit_price: true }), `lines/0/unit_price: ${price}`],
    ["a negative price", oneLine({ unit_price: "-1" }), `lines/0/unit_price: ${price}`],
    ["a float that is no decimal", oneLine({ tax_percent: 0.1 + 0.2 }), `lines/0/tax_percent: ${percent}`],
    [
      "a line that is too large",
      oneLine({ unit_price: 1e9, quantity: 1e6 }),
      "lines/0: expected quantity times unit_price of at most 1000000000000, got 1000000000000000",
    ],
    [
      "too much text",
      { lines: times(201, () => ({ ...line, description: "x".repeat(200) })) },
      "lines: expected at most 40000 characters in all lines, got 40200",
    ],
    [
      "a rate on some lines only",
      { lines: [{ ...line, tax_percent: 7 }, line] },
      "lines/1/tax_percent: expected a tax rate here, as other lines have one, or tax.percent for all lines",
    ],
    [
      "too many rates",
      { lines: times(13, (rate) => ({ ...line, tax_percent: rate })) },
      "lines: expected at most 12 different tax rates, got 13",
    ],
    ["an unknown currency", { currency: "EURO" }, "currency: expected an ISO 4217 currency code such as EUR"],
    ["a malformed locale", { locale: "de_DE" }, "locale: expected a locale such as de-DE"],
    [
      "a wrong IBAN",
      { payment: { iban: "DE02 1203 0000 0000 2020 52" } },
      "payment/iban: expected an IBAN with correct check digits",
    ],
    ["a day that does not exist", { issue_date: "2026-02-30" }, "issue_date: Invalid ISO date"],
    [
      "a due date before the issue",
      { due_date: "2026-04-06" },
      "due_date: expected issue_date (2026-04-07) or a later day, got 2026-04-06",
    ],
    [
      "text that the font cannot print",
      { buyer: { ...small.buyer, name: "東京 😀" } },
      'buyer/name: expected Latin, Greek or Cyrillic text, got "東", "京", "😀"',
    ],
  ];

  it.each(refused)("an order is refused for %s", (_, change, refusal) => {
    expect(refusals({ ...small, ...change })).toEqual([refusal]);
  });

  it("an order is refused or accepted, and never a crash, whatever value is in one of its places", () => {
    const order = example("order-de.json");
    const places = (value: unknown, path: string[]): string[][] => [
      path,
      ...(typeof value === "object" && value !== null
        ? Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))
        : []),
    ];
    const replaced = (value: unknown, [key, ...rest]: string[], other: unknown): unknown => {
      if (key === undefined) return other;
      const copy: Record<string, unknown> = Object.assign(Array.isArray(value) ? [] : {}, value);
      copy[key] = replaced(copy[key], rest, other);
      return copy;
    };
    fc.assert(
      fc.property(fc.constantFrom(...places(order, [])), fc.jsonValue(), (path, other) => {
        const { success, data, error } = orderSchema.safeParse(replaced(order, path, other));
        if (success) expect(totalsOf(data).total.toFixed()).toMatch(/^-?\d+(\.\d{1,2})?$/);
        else expect(error.issues).not.toEqual([]);
      }),
    );
  });

  it("an order can be checked again after its defaults were filled in", () => {
    const once = orderSchema.parse({
      ...small,
      lines: [{ description: " a\tb ", unit_price: "019.50", quantity: -0 }],
    });
    expect(once.lines).toEqual([{ description: "a b", unit_price: "19.5", quantity: "0" }]);
    expect(orderSchema.parse(once)).toEqual(once);
  });
});

describe("the words and numbers", () => {
  it.each([
    ["de-DE", "EUR", "-1.234,50 €", "0,0325 €", "19 %", "7. April 2026", "Rechnung"],
    ["en-US", "USD", "-$1,234.50", "$0.0325", "19%", "April 7, 2026", "Invoice"],
    ["fr-FR", "EUR", "-1 234,50 €", "0,0325 €", "19 %", "7 avril 2026", "Facture"],
    ["es-ES", "EUR", "-1234,50 €", "0,0325 €", "19 %", "7 de abril de 2026", "Factura"],
    ["pl-PL", "PLN", "-1234,50 zł", "0,0325 zł", "19%", "7 kwietnia 2026", "Invoice"],
    ["ja-JP", "JPY", "-JP¥1,235", "JP¥0.0325", "19%", "7 April 2026", "Invoice"],
    ["uk-UA", "UAH", "-1 234,50 UAH", "0,0325 UAH", "19%", "7 квітня 2026 р.", "Invoice"],
  ])("words and numbers follow the locale %s", (locale, currency, money, price, percent, date, title) => {
    const formats = formatsFor({ locale, currency });
    const { net } = totalsOf(
      orderSchema.parse({ ...small, lines: [{ description: "x", unit_price: "1234.5", quantity: -1 }] }),
    );
    const printed = [formats.money(net), formats.price("0.0325"), formats.percent("19"), formats.date("2026-04-07")];
    expect(printed.map((text) => text.replaceAll("\u00A0", " "))).toEqual([money, price, percent, date]);
    expect(printed.every(isPrintable)).toBe(true);
    expect(labelsFor(locale).invoice).toBe(title);
  });

  it("the paper is Letter where that is usual, else A4", () => {
    expect(["en-US", "en", "es-MX", "en-GB", "de-DE", "fr-CA"].map(paperOf)).toEqual([
      "LETTER",
      "LETTER",
      "LETTER",
      "A4",
      "A4",
      "LETTER",
    ]);
  });

  it("an EUR amount that is owed to an IBAN has a SEPA code for banking apps", () => {
    const order = orderSchema.parse(example("order-de.json"));
    const holder = order.seller.name;
    expect(girocode(order, totalsOf(order))).toBe(
      `BCD\n002\n1\nSCT\nBYLADEM1001\n${holder}\nDE02120300000000202051\nEUR2058.82\n\n\nRE-2026-0231`,
    );
    const dollars = orderSchema.parse(example("order.json"));
    expect(girocode(dollars, totalsOf(dollars))).toBeUndefined();
  });
});
