import { existsSync } from "node:fs";
import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.dead",
  input: z.strictObject({ n: z.number() }),
  handler: (_, task) => {
    if (existsSync(`${process.env.EFFECTS_FILE}.down`)) throw new PermanentError("down");
    effect(task, "run");
  },
});
