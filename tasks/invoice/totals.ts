import Big from "big.js";
import type { Order, OrderLine } from "./order.ts";

/** One line of the order and what it comes to. */
export interface LineTotal {
  line: OrderLine;
  /** The line's own tax rate or the order's; undefined where the order has no tax. */
  percent: string | undefined;
  /** Quantity times unit price, less the discount. */
  net: Big;
}

/** What is owed at one tax rate. */
interface RateTotal {
  percent: string;
  /** Sum of the net amounts of the rate's lines. */
  net: Big;
  /** The rate's share of `net`. */
  tax: Big;
}

/** The amounts of an invoice, each in whole minor units of the currency (cents of a EUR). */
export interface Totals {
  /** In the order's sequence. */
  lines: readonly LineTotal[];
  /** Highest rate first; empty where the order has no tax. */
  rates: readonly RateTotal[];
  /** Sum of the net amounts of all lines. */
  net: Big;
  /** `net` and the tax of all rates. */
  total: Big;
}

/** How many decimals amounts of a currency have: 2 for EUR, 0 for JPY, 3 for KWD. */
const decimalsOf = (currency: string): number =>
  new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;

const sum = (amounts: readonly Big[]) => amounts.reduce((total, amount) => total.plus(amount), new Big(0));

/** Exact: a hundredth as a factor, where a division would have to round. */
const share = (amount: Big, percent: Big | string) => amount.times(percent).times("0.01");

/**
 * Works out what an order comes to. Each line is rounded, half away from zero; the tax is rounded once per rate, on the
 * sum of its lines; everything else is a sum of rounded amounts. So what is printed adds up.
 */
export function totalsOf(order: Order): Totals {
  const decimals = decimalsOf(order.currency);
  const rounded = (amount: Big) => amount.round(decimals, Big.roundHalfUp);
  const lines = order.lines.map((line): LineTotal => {
    const kept = new Big(100).minus(line.discount_percent ?? 0);
    const net = rounded(share(new Big(line.quantity).times(line.unit_price), kept));
    return { line, percent: line.tax_percent ?? order.tax?.percent, net };
  });
  const rates = [...Map.groupBy(lines, ({ percent }) => percent)]
    .flatMap(([percent, taxed]): RateTotal[] => {
      if (percent === undefined) return [];
      const net = sum(taxed.map((line) => line.net));
      return [{ percent, net, tax: rounded(share(net, percent)) }];
    })
    .sort((a, b) => new Big(b.percent).cmp(a.percent));
  const net = sum(lines.map((line) => line.net));
  return { lines, rates, net, total: net.plus(sum(rates.map(({ tax }) => tax))) };
}
