import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "report.make",
  description: "Adds up the orders of a shop in a month.",
  input: z.strictObject({ shop: z.string().max(64), month: z.string().regex(/^\d{4}-\d{2}$/) }),
  handler: async ({ shop, month }, task) => {
    task.log.info("report started", { shop, month });
    const orders = [{ cents: 1200 }, { cents: 450 }];
    const cents = orders.reduce((sum, order) => sum + order.cents, 0);
    return { shop, month, orders: orders.length, cents };
  },
});
