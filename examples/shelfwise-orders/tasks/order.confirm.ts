import { createTransport } from "nodemailer";
import { defineTask } from "offload";
import * as z from "zod";
import { money, onceKey, orderSchema, totalOf } from "../shop/order.ts";

/** An SMTP answer of 500 or more is final, such as an unknown mailbox. All other errors pass. */
const isRefused = (error: unknown) => Number((error as { responseCode?: number } | null)?.responseCode) >= 500;

export default defineTask({
  name: "order.confirm",
  description: "Mails the customer that the order has arrived.",
  input: z.strictObject({ order: orderSchema, shop: z.strictObject({ name: z.string(), email: z.email() }) }),
  priority: "high",
  timeoutSeconds: 30,
  sensitive: true,
  classify: [(error) => (isRefused(error) ? "permanent" : undefined)],
  handler: ({ order, shop }, task) =>
    task.once(onceKey("confirm", "order", task.tenantId, order.id), async (idempotencyKey) => {
      const { messageId } = await createTransport(process.env.SMTP_URL).sendMail({
        from: { name: shop.name, address: shop.email },
        to: order.email,
        subject: `Your order ${order.id} at ${shop.name}`,
        text: [
          ...order.lines.map(({ quantity, title, cents }) => `${quantity} x ${title}: ${money(quantity * cents)}`),
          `Total: ${money(totalOf(order))}`,
        ].join("\n"),
        // SMTP has no idempotency key. Every try has the same Message-ID, by which many mail servers drop a second copy.
        messageId: `<${idempotencyKey}@${task.tenantId}.shelfwise.example>`,
      });
      return { messageId };
    }),
});
