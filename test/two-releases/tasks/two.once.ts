import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.once",
  input: z.strictObject({ n: z.number() }),
  maxAttempts: 5,
  retry: { baseSeconds: 8, capSeconds: 8, jitter: "none" },
  handler: async (_, task) => {
    await task.once(`two-${task.taskId}`, () => effect(task, "once"));
    if (task.attempt === 1) throw new Error("after once");
    effect(task, "run");
  },
});
