import { defineTask, file } from "offload";
import { orderSchema } from "./invoice/order.ts";

const today = () => new Date().toISOString().slice(0, 10);

/** The code that draws, which only an invoice needs: other tasks' workers start without it. */
const drawing = () => Promise.all([import("./invoice/document.ts"), import("./invoice/draw.ts")]);

const fileNameOf = (number = "") => `${["invoice", ...number.split(/[^A-Za-z0-9._]+/u).filter(Boolean)].join("-")}.pdf`;

export default defineTask({
  name: "invoice.generate",
  description: "Turns an order into a PDF invoice.",
  input: orderSchema,
  timeoutSeconds: 60,
  maxAttempts: 3,
  handler: async (order, task) => {
    const [{ invoiceDocument }, { draw }] = await drawing();
    const definition = invoiceDocument({ ...order, issue_date: order.issue_date ?? today() });
    const pdf = await draw(definition, { signal: task.signal, progress: (percent) => task.progress(percent) });
    task.log.info("invoice drawn", { lines: order.lines.length, bytes: pdf.byteLength });
    return file(pdf, { contentType: "application/pdf", fileName: fileNameOf(order.number) });
  },
});
