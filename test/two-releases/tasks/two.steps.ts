import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.steps",
  input: z.strictObject({ sleeps: z.array(z.number()) }),
  handler: async ({ sleeps }, task) => {
    for (const [index, seconds] of sleeps.entries()) {
      await task.step(`step ${index}`, () => effect(task, `step ${index}`));
      await task.sleep(seconds);
    }
    const answer = await task.waitFor("go", { timeoutSeconds: 3_600 });
    effect(task, "run", { answer });
  },
});
