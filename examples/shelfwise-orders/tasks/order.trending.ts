import { defineTask } from "offload";
import * as z from "zod";
import { onceKey, orderSchema } from "../shop/order.ts";
import { shopApi } from "./lib/shop-api.ts";

export default defineTask({
  name: "order.trending",
  description: "Counts the titles of an order for the shop's list of trending titles.",
  input: z.strictObject({ order: orderSchema }),
  priority: "low",
  timeoutSeconds: 20,
  handler: ({ order: { id, lines } }, { tenantId, signal }) =>
    shopApi(tenantId, signal)("trending", { key: onceKey("trending", "order", tenantId, id), lines }),
});
