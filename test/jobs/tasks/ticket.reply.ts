import { defineTask } from "offload";
import * as z from "zod";
import { call } from "./lib/world.ts";

export default defineTask({
  name: "ticket.reply",
  input: z.strictObject({ text: z.string() }),
  handler: ({ text }) => call<string>("llm/write", { prompt: `Reply to this ticket in three sentences: ${text}` }),
});
