import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.wide",
  input: z.strictObject({ key: z.string(), ms: z.int(), pad: z.string() }),
  concurrency: { key: ({ key }) => key, limit: 40 },
  handler: async ({ key, ms }, task) => {
    effect(task, "begin", { key });
    await sleep(ms);
    effect(task, "run", { key });
  },
});
