import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "report.make",
  description: "Makes a report, slowly enough to watch its progress.",
  input: z.strictObject({ name: z.string().min(1).max(100), seconds: z.int().min(1).max(60).default(5) }),
  // The page shows the result without another request.
  push: "result",
  timeoutSeconds: 120,
  handler: async ({ name, seconds }, task) => {
    const steps = 20;
    for (let step = 1; step <= steps; step++) {
      await sleep((seconds * 1000) / steps, undefined, { signal: task.signal });
      task.progress((100 * step) / steps);
    }
    return { text: `${name}: ${steps} steps in ${seconds} s` };
  },
});
