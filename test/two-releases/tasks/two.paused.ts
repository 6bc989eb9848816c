import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.paused",
  input: z.strictObject({ n: z.number(), pad: z.string() }),
  handler: ({ n }, task) => {
    effect(task, "run");
    return { n };
  },
});
