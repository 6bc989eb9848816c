import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.echo",
  input: z.strictObject({ n: z.number(), fails: z.int().default(0), pad: z.string().default("") }),
  maxAttempts: 5,
  retry: { baseSeconds: 4, capSeconds: 4, jitter: "none" },
  handler: ({ n, fails }, task) => {
    if (task.attempt <= fails) throw new Error("not yet");
    effect(task, "run");
    return { n };
  },
});
