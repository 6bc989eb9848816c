import { defineTask } from "offload";
import * as z from "zod";
import { probeCounters } from "../src/core/ports/probe-counters.ts";

export default defineTask({
  name: "probe.steps",
  description: "Counts in each of its steps, and sleeps between them.",
  input: z.strictObject({
    steps: z.int().min(1).max(100),
    fail_after: z.int().min(1).max(100).nullable().default(null),
    sleep_seconds: z.number().min(0).max(31_536_000).default(0),
  }),
  timeoutSeconds: 30,
  handler: async ({ steps, fail_after, sleep_seconds }, task) => {
    const counts: number[] = [];
    for (let number = 1; number <= steps; number++) {
      if (number > 1 && sleep_seconds > 0) await task.sleep(sleep_seconds);
      const counter = `step ${number} of ${task.taskId}`;
      counts.push(await task.step(`count ${number}`, (key) => probeCounters().add(task.tenantId, counter, key)));
      if (fail_after === number && task.attempt === 1) {
        throw new Error(`the first attempt fails after step ${number}, as its input requested`);
      }
    }
    return { counts };
  },
});
