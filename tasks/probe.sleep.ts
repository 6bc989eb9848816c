import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.sleep",
  description: "Sleeps, and reports progress after each step.",
  input: z.strictObject({
    ms: z.int().min(0).max(600_000),
    steps: z.int().min(1).max(100).default(1),
    heed_abort: z.boolean().default(true),
  }),
  timeoutSeconds: 620,
  handler: async ({ ms, steps, heed_abort }, task) => {
    const startedAt = Date.now();
    for (let step = 1; step <= steps; step++) {
      const leftMs = startedAt + (ms * step) / steps - Date.now();
      await sleep(Math.max(0, leftMs), undefined, heed_abort ? { signal: task.signal } : {});
      task.progress((step / steps) * 100, { message: `step ${step} of ${steps}`, data: { step } });
    }
    return { slept_ms: Date.now() - startedAt };
  },
});
