import { defineTask, PermanentError } from "offload";
import * as z from "zod";
import leaf from "./chaos.leaf.ts";
import { sumOf } from "./chaos.steps.ts";

/** Children of one page. */
const pageSize = 5;

export default defineTask({
  name: "chaos.pages",
  description: "Spawns its children in pages, stores a state behind each, and goes on in another attempt.",
  input: z.strictObject({
    children: z.int().min(1),
    effects: z.string(),
    fail_at: z.int().nullable().default(null),
  }),
  state: z.strictObject({ next: z.int() }),
  timeoutSeconds: 60,
  maxAttempts: 20,
  children: { threshold: 0.5 },
  handler: async ({ children, effects, fail_at }, task) => {
    for (let next = task.state?.next ?? 1; next <= children; ) {
      const end = Math.min(next + pageSize, children + 1);
      for (let number = next; number < end; number++) {
        await task.spawn(leaf, { family: task.taskId, number, effects }, { key: `${number}` });
      }
      next = end;
      if (fail_at === task.attemptOverall) throw new PermanentError("the attempt fails, as planned");
      await task.checkpoint({ next });
      if (next <= children) await task.continueLater();
    }
  },
  aggregate: async ({ total, completed, failed, results }) => ({
    total,
    completed,
    failed,
    sum: await sumOf(results),
  }),
});
