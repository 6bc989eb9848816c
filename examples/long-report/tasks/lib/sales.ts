import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Regions, with their orders per day. A month of `online` has about 27,000 orders: two years fit into an encrypted result,
 * which has at most 32 MiB.
 */
export const ordersPerDay = { north: 40, south: 25, east: 10, online: 900 };
export type Region = keyof typeof ordersPerDay;
export const regions = Object.keys(ordersPerDay) as [Region, ...Region[]];

interface Order {
  id: string;
  day: string;
  cents: number;
}

/** One month of a report. */
export interface MonthTotal {
  month: string;
  orders: number;
  cents: number;
}

/** The months of a period: `monthsFrom("2025-11", 3)` is 2025-11, 2025-12, 2026-01. */
export function monthsFrom(first: string, count: number): string[] {
  const [year = 0, month = 0] = first.split("-").map(Number);
  return Array.from({ length: count }, (_, n) => new Date(Date.UTC(year, month - 1 + n)).toISOString().slice(0, 7));
}

/**
 * The orders of a month, the same in each call. It stands for a query of your data warehouse, which has the years 2022 to 2025.
 */
export function* ordersOf(region: Region, month: string): Generator<Order, void, undefined> {
  if (month < "2022-01" || month > "2025-12") return;
  let random = createHash("sha256").update(`${region} ${month}`).digest().readUInt32LE();
  const days = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
  for (let n = 0; n < days * ordersPerDay[region]; n++) {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    const day = `${month}-${String(1 + Math.floor(n / ordersPerDay[region])).padStart(2, "0")}`;
    yield { id: `${region}-${month}-${n + 1}`, day, cents: 100 + (random % 99_900) };
  }
}

/** Adds up a month. The warehouse takes this long for it. */
export async function totalOf(region: Region, month: string, ms: number, signal: AbortSignal): Promise<MonthTotal> {
  await sleep(ms, undefined, { signal });
  const total = { month, orders: 0, cents: 0 };
  for (const { cents } of ordersOf(region, month)) {
    total.orders += 1;
    total.cents += cents;
  }
  return total;
}

/** The orders of all months as CSV, each with its share of its month. */
export function* csvOf(region: Region, totals: readonly MonthTotal[]): Generator<Uint8Array, void, undefined> {
  const bytes = (lines: string[]) => Buffer.from(lines.join(""));
  yield bytes(["order,day,amount,percent of month\r\n"]);
  for (const total of totals) {
    const lines: string[] = [];
    for (const { id, day, cents } of ordersOf(region, total.month)) {
      lines.push(`${id},${day},${(cents / 100).toFixed(2)},${((100 * cents) / total.cents).toFixed(6)}\r\n`);
      if (lines.length >= 4000) yield bytes(lines.splice(0));
    }
    yield bytes(lines);
  }
}
