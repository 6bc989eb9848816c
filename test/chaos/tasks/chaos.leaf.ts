import { appendFileSync } from "node:fs";
import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { failEvery } from "../fail-every.ts";

export default defineTask({
  name: "chaos.leaf",
  description: "Writes a line under its own key, once, and returns its number, or fails for good.",
  input: z.strictObject({ family: z.string(), number: z.int(), effects: z.string() }),
  timeoutSeconds: 30,
  maxAttempts: 20,
  handler: async ({ family, number, effects }, task) => {
    await task.once(`effect of ${task.taskId}`, (key) => appendFileSync(effects, `${family} ${number} ${key}\n`));
    if (number % failEvery === 0) throw new PermanentError(`child ${number} fails, as planned`);
    return { number };
  },
});
