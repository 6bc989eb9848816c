import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.child",
  input: z.strictObject({ number: z.int(), fails: z.boolean().default(false) }),
  handler: async ({ fails }, task) => {
    await sleep(2_000);
    effect(task, "run");
    if (fails) throw new PermanentError("as asked");
  },
});
