import { defineTask } from "offload";
import * as z from "zod";

const has = (text: string, words: string[]) => words.some((word) => text.toLowerCase().includes(word));

export default defineTask({
  name: "ticket.triage",
  input: z.strictObject({ text: z.string() }),
  handler: ({ text }) => ({
    category: has(text, ["bill", "charge", "invoice"])
      ? "billing"
      : has(text, ["login", "access"])
        ? "account"
        : "other",
    priority: has(text, ["urgent", "down", "outage"]) ? "high" : has(text, ["broken", "error"]) ? "medium" : "low",
  }),
});
