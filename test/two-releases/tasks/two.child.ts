import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.child",
  input: z.strictObject({ number: z.int() }),
  handler: async (_, task) => {
    await sleep(2_000);
    effect(task, "run");
  },
});
