import { defineTask } from "offload";
import * as z from "zod";
import { onceKey, orderSchema } from "../shop/order.ts";

/** The receiver gets each event at least once, always with the same `webhook-id`. */
export default defineTask({
  name: "order.webhook",
  description: "Posts the event order.created to the shop's URL.",
  input: z.strictObject({ url: z.url(), order: orderSchema }),
  priority: "normal",
  timeoutSeconds: 15,
  maxAttempts: 3,
  retry: { waitsSeconds: [30, 300] },
  handler: async ({ url, order }, task) => {
    const key = onceKey("webhook", "order", task.tenantId, order.id);
    return task.once(key, async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...task.traceHeaders(), "content-type": "application/json", "webhook-id": key },
        body: JSON.stringify({ type: "order.created", tenant: task.tenantId, order }),
        redirect: "error",
        signal: task.signal,
      });
      if (response.ok) return { status: response.status };
      const what = `order.created of order ${order.id} of ${task.tenantId}`;
      throw new Error(`${url} answered ${response.status} to ${what}`, { cause: response });
    });
  },
});
