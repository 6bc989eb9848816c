import { defineTask, PermanentError } from "offload";
import * as z from "zod";

export default defineTask({
  name: "text.size",
  input: z.strictObject({ text: z.string() }),
  handler: async ({ text }) => {
    if (text === "") throw new PermanentError("there is no text");
    return { size: text.length };
  },
});
