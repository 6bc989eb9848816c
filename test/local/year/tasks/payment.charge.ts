import { defineTask } from "offload";
import * as z from "zod";
import { bank } from "./lib/bank.ts";

export default defineTask({
  name: "payment.charge",
  input: z.strictObject({ customer: z.string() }),
  retry: { waitsSeconds: [86_400], capSeconds: 86_400, jitter: "none" },
  handler: async ({ customer }) => {
    const answer = await bank(`charge ${customer}`);
    if (answer !== "paid") throw new Error(answer);
  },
});
