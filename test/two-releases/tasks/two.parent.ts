import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";
import child from "./two.child.ts";

export default defineTask({
  name: "two.parent",
  input: z.strictObject({ children: z.int() }),
  children: { threshold: 1 },
  handler: async ({ children }, task) => {
    for (let number = 0; number < children; number++) await task.spawn(child, { number });
  },
  aggregate: ({ completed }, task) => effect(task, "run", { completed }),
});
