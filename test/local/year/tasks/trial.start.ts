import { defineTask } from "offload";
import * as z from "zod";
import { bank } from "./lib/bank.ts";

export default defineTask({
  name: "trial.start",
  input: z.strictObject({ customer: z.string() }),
  handler: async ({ customer }, task) => {
    await task.sleep(30 * 86_400);
    await task.step("open", () => bank(`open an account for ${customer}`));
  },
});
