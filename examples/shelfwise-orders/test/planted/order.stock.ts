import { setImmediate } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";
import { onceKey, orderSchema } from "../../shop/order.ts";
import { shopApi } from "../../tasks/lib/shop-api.ts";

/** A fault on purpose: the tenant is a variable of the module, which an attempt sets late. Attempts of a worker share it. */
let currentTenant = "";

export default defineTask({
  name: "order.stock",
  input: z.strictObject({ order: orderSchema }),
  handler: async ({ order: { id, lines } }, { tenantId, signal }) => {
    await setImmediate();
    currentTenant = tenantId;
    await setImmediate();
    return shopApi(currentTenant, signal)("stock", { key: onceKey("stock", "order", currentTenant, id), lines });
  },
});
