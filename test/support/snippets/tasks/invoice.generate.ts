import { defineTask, file } from "offload";
import * as z from "zod";

export default defineTask({
  name: "invoice.generate",
  input: z.object({ orderId: z.string().optional(), id: z.string().optional() }),
  handler: () => file(new Uint8Array(), { contentType: "application/pdf", fileName: "invoice.pdf" }),
});
