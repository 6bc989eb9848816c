import type { Receivers } from "../core/ports/receivers.ts";
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

/** The receivers of webhooks, whose code is loaded with the first of them: few workers deliver webhooks again. */
export const lazyReceivers = (table: DynamoTable): Pick<Receivers, "get"> => ({
  get: async (key) => new (await import("./receivers.ts")).DynamoReceivers(table).get(key),
});
