import { defineTask } from "offload";
import { drawInvoice } from "./lib/invoice.ts";
import { sendMail } from "./lib/mail.ts";
import { orderSchema } from "./lib/order.ts";

export default defineTask({
  name: "invoice.send",
  description: "Mails the invoice of an order.",
  input: orderSchema,
  timeoutSeconds: 30,
  // With the default waits of up to two hours: half a day without a mail server loses no invoice.
  maxAttempts: 11,
  // Addresses, names and amounts stay out of logs.
  sensitive: true,
  handler: async (order, task) => {
    // The order's id is the key of the effect: a second task for the same order sends nothing.
    const messageId = `<${order.id}.${task.tenantId}@invoices.example>`;
    await task.once(`invoice-${order.id}`, async () => {
      const pdf = await drawInvoice(order);
      await sendMail({
        from: { name: "Book shop", address: "invoices@example.com" },
        to: { name: order.name, address: order.email },
        subject: `Your invoice ${order.id}`,
        text: `Thank you for your order ${order.id}. The invoice is attached.`,
        attachments: [{ filename: `invoice-${order.id}.pdf`, content: pdf, contentType: "application/pdf" }],
        // The same in each attempt: mail servers and clients can drop a second copy.
        messageId,
      });
    });
    return { messageId };
  },
});
