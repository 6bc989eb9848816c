import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.big",
  input: z.strictObject({ bytes: z.int(), pad: z.string().default("") }),
  handler: ({ bytes }, task) => {
    effect(task, "run");
    return { text: "r".repeat(bytes) };
  },
});
