import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.wait",
  input: z.strictObject({ seconds: z.int() }),
  handler: async ({ seconds }, task) => {
    const answer = await task.waitFor("go", { timeoutSeconds: seconds });
    effect(task, "run", { answer });
  },
});
