import { defineTask } from "offload";
import * as z from "zod";

const crashes = {
  exit: () => process.exit(1),
  hang: () => new Promise<never>(() => {}),
  block: () => {
    for (;;);
  },
  memory: () => {
    const kept: unknown[] = [];
    for (;;) kept.push(new Array(100_000).fill(kept.length));
  },
} as const;

export default defineTask({
  name: "probe.crash",
  description: "Crashes its worker or hangs in its first attempts, then returns.",
  input: z.strictObject({
    how: z.enum(["exit", "hang", "block", "memory"]),
    times: z.int().min(0).nullable().default(null),
  }),
  timeoutSeconds: 5,
  handler: async ({ how, times }, task) => {
    if (times === null || task.attemptOverall <= times) await crashes[how]();
    return { attempt: task.attempt };
  },
});
