import type { Deliveries } from "../core/ports/webhooks.ts";
import type { DynamoTable } from "./dynamo-table.ts";

/** Deliveries of webhooks. Their code loads with the first use: only operations on webhooks need it. */
export function lazyDeliveries(table: DynamoTable): Pick<Deliveries, "get" | "put"> {
  const opened = async () => new (await import("./deliveries-store.ts")).DynamoDeliveries(table);
  return {
    get: async (...key) => (await opened()).get(...key),
    put: async (...delivery) => (await opened()).put(...delivery),
  };
}
