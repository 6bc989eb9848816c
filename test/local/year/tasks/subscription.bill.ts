import { defineTask } from "offload";
import * as z from "zod";
import { bank } from "./lib/bank.ts";

export default defineTask({
  name: "subscription.bill",
  input: z.strictObject({ customer: z.string() }),
  handler: async ({ customer }) => void (await bank(`bill ${customer}`)),
});
