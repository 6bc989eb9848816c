import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.signals",
  description: "Reads the signals `message` until the body is `end`.",
  input: z.strictObject({ timeout_seconds: z.number().min(0).max(31_536_000).default(60) }),
  timeoutSeconds: 30,
  handler: async ({ timeout_seconds: timeoutSeconds }, task) => {
    const read: unknown[] = [];
    for (;;) {
      const message = await task.nextSignal("message", { timeoutSeconds });
      if (message === undefined || message === "end") return { read };
      read.push(message);
    }
  },
});
