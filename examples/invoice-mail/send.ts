import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createClient } from "offload/client";
import type * as tasks from "./tasks/index.ts";
import { type Order, orderSchema } from "./tasks/lib/order.ts";

/* Sends the invoice of each order of a file, one order in each line: `node send.ts orders.ndjson`. Safe to repeat. */

/** Number of orders in one call: those of a file need not fit into the memory. */
const atOnce = 500;

async function* ordersOf(path: string): AsyncGenerator<Order[]> {
  const orders: Order[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (line.trim() !== "") orders.push(orderSchema.parse(JSON.parse(line)));
    if (orders.length === atOnce) yield orders.splice(0);
  }
  yield orders;
}

/** Submits a task for each order. The key is the order's: submitting it again makes no second task. */
export async function send(path: string, { url, key }: { url: string; key: string }) {
  const offload = createClient<typeof tasks>({ url, key });
  const ids: string[] = [];
  for await (const orders of ordersOf(path)) {
    const outcomes = await offload.submitBatch(
      orders.map((order) => ({
        type: "invoice.send" as const,
        input: order,
        tags: { order: order.id },
        idempotencyKey: `invoice-${order.id}`,
      })),
    );
    for (const { task, error } of outcomes) {
      if (task === undefined) throw error;
      ids.push(task.task_id);
    }
  }
  return ids;
}

if (import.meta.main) {
  const { OFFLOAD_URL = "http://127.0.0.1:3000", OFFLOAD_KEY = "dev-acme" } = process.env;
  const ids = await send(process.argv[2] ?? "orders.ndjson", { url: OFFLOAD_URL, key: OFFLOAD_KEY });
  console.log(`${ids.length} invoices accepted`);
}
