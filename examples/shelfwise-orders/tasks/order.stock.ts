import { defineTask } from "offload";
import * as z from "zod";
import { onceKey, orderSchema } from "../shop/order.ts";
import { shopApi } from "./lib/shop-api.ts";

/** The shop's server books each key once, in the transaction that changes the stock. So this handler needs no step. */
export default defineTask({
  name: "order.stock",
  description: "Takes an order's items out of the shop's stock.",
  input: z.strictObject({ order: orderSchema }),
  priority: "high",
  timeoutSeconds: 20,
  handler: ({ order: { id, lines } }, { tenantId, signal }) =>
    shopApi(tenantId, signal)("stock", { key: onceKey("stock", "order", tenantId, id), lines }),
});
