import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "ledger.apply",
  input: z.strictObject({ account: z.string(), entry: z.int() }),
  concurrency: { key: ({ account }) => account, limit: 1, order: "strict" },
  maxAttempts: 3,
  handler: (input) => call("ledger/apply", input, `${input.account}/${input.entry}`),
});
