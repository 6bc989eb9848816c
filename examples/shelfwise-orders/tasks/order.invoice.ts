import { defineTask, file } from "offload";
import * as z from "zod";
import { money, orderSchema, totalOf } from "../shop/order.ts";
import { drawPdf } from "./lib/pdf.ts";

/** A pure function of its input: a second attempt draws the same invoice, so it needs no key. */
export default defineTask({
  name: "order.invoice",
  description: "Draws the invoice of an order.",
  input: z.strictObject({ order: orderSchema, shop: z.strictObject({ name: z.string(), email: z.email() }) }),
  priority: "normal",
  timeoutSeconds: 60,
  handler: async ({ order, shop }) => {
    const rows = order.lines.map(({ quantity, title, cents }) => [`${quantity}`, title, money(quantity * cents)]);
    const pdf = await drawPdf({
      info: { title: `Invoice ${order.id}`, author: shop.name },
      content: [
        { text: shop.name, fontSize: 20, bold: true },
        { text: `Invoice ${order.id} for ${order.email}`, margin: [0, 4, 0, 16] },
        { table: { headerRows: 1, widths: ["auto", "*", "auto"], body: [["Copies", "Title", "Price"], ...rows] } },
        { text: `Total ${money(totalOf(order))}`, bold: true, margin: [0, 16, 0, 0] },
      ],
    });
    return file(pdf, { contentType: "application/pdf", fileName: `invoice-${order.id}.pdf` });
  },
});
