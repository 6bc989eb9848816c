import { existsSync } from "node:fs";
import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.breaker",
  input: z.strictObject({ n: z.number() }),
  maxAttempts: 10,
  retry: { baseSeconds: 5, capSeconds: 5, jitter: "none" },
  breaker: { failures: 4, coolDownSeconds: 10 },
  handler: (_, task) => {
    if (existsSync(`${process.env.EFFECTS_FILE}.down`)) throw new Error("down");
    effect(task, "run");
  },
});
