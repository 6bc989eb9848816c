import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.rated",
  input: z.strictObject({ n: z.number(), pad: z.string() }),
  rateLimit: { limit: 1, perSeconds: 1 },
  handler: (_, task) => effect(task, "run"),
});
