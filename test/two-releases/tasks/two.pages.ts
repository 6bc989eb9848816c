import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";
import { effect } from "./lib/effects.ts";

export default defineTask({
  name: "two.pages",
  input: z.strictObject({ pages: z.int(), ms: z.int() }),
  state: z.strictObject({ page: z.int() }),
  timeoutSeconds: 60,
  handler: async ({ pages, ms }, task) => {
    let { page } = task.state ?? { page: 0 };
    while (page < pages) {
      await sleep(ms);
      page += 1;
      await task.checkpoint({ page });
      if (page % 3 === 0 && page < pages) await task.continueLater();
    }
    effect(task, "run", { page });
  },
});
