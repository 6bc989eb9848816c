import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "inbox.sync",
  input: z.strictObject({ accountId: z.string(), manual: z.boolean() }),
  handler: (input) => call("mail/sync", input),
});
