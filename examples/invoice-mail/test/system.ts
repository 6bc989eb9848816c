import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Order } from "../tasks/lib/order.ts";

/** A deployment to test, in place of a local server. */
export const deployment =
  process.env.OFFLOAD_URL === undefined
    ? undefined
    : { url: process.env.OFFLOAD_URL, key: process.env.OFFLOAD_KEY ?? "" };

export const folder = mkdtempSync(join(tmpdir(), "invoice-mail-"));
export const removeFolder = () => rmSync(folder, { recursive: true, force: true });

export const orderOf = (id: string, more: Partial<Order> = {}): Order => ({
  id,
  email: `${id}@example.com`,
  name: `Reader ${id}`,
  lines: [{ title: "Dune", quantity: 2, cents: 1290 }],
  ...more,
});

/** Writes a file with an order in each line. */
export function fileOf(orders: readonly Order[], name: string): string {
  const path = join(folder, name);
  writeFileSync(path, orders.map((order) => `${JSON.stringify(order)}\n`).join(""));
  return path;
}

/** Ids of the processes that a process has started: the workers of a local server. */
export const childrenOf = (pid: number): number[] =>
  readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, "utf8").split(") ")[1]?.split(" ")[1]);
      return parent === pid ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
