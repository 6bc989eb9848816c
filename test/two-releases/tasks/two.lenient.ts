import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";
import child from "./two.child.ts";

export default defineTask({
  name: "two.lenient",
  input: z.strictObject({ children: z.int(), failEvery: z.int() }),
  children: { threshold: 0.5 },
  handler: async ({ children, failEvery }, task) => {
    for (let number = 1; number <= children; number++)
      await task.spawn(child, { number, fails: number % failEvery === 0 });
  },
  aggregate: ({ completed, failed }, task) => {
    if (failed === 0) throw new PermanentError("no child has failed");
    effect(task, "run", { completed, failed });
  },
});
