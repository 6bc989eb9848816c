import Big from "big.js";
import type { Order, OrderLine } from "./order.ts";

/** One line of the order and its amount. */
export interface LineTotal {
  line: OrderLine;
  /** The line's tax rate, or else the order's. Undefined: the order has no tax. */
  percent: string | undefined;
  /** Quantity times unit price, minus the discount. */
  net: Big;
}

/** The amounts for one tax rate. */
interface RateTotal {
  percent: string;
  /** Sum of the net amounts of the rate's lines. */
  net: Big;
  /** `percent` of `net`. */
  tax: Big;
}

/** The amounts of an invoice, each rounded to the currency's smallest unit, such as a cent. */
export interface Totals {
  /** Lines in the order's sequence. */
  lines: readonly LineTotal[];
  /** Highest rate first. Empty when the order has no tax. */
  rates: readonly RateTotal[];
  /** Sum of the net amounts of all lines. */
  net: Big;
  /** Sum of `net` and the tax of all rates. */
  total: Big;
}

/** Number of decimals of a currency: 2 for EUR, 0 for JPY, 3 for KWD. */
const decimalsOf = (currency: string): number =>
  new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 2;

const sum = (amounts: readonly Big[]) => amounts.reduce((total, amount) => total.plus(amount), new Big(0));

/** Exact, as it multiplies by 0.01; a division by 100 would round. */
const share = (amount: Big, percent: Big | string) => amount.times(percent).times("0.01");

/**
 * Calculates the amounts of an invoice. Each line is rounded, half away from zero. The tax is rounded once for each
 * rate, on the sum of its lines. All other amounts are sums of rounded amounts, so the printed amounts add up.
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
