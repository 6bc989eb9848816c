import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.wait",
  description: "Waits for a signal, and returns its body; null when none came in time.",
  input: z.strictObject({ name: z.string().min(1).max(64), timeout_seconds: z.number().min(0).max(31_536_000) }),
  timeoutSeconds: 30,
  handler: async ({ name, timeout_seconds }, task) => ({
    signal: (await task.waitFor(name, { timeoutSeconds: timeout_seconds })) ?? null,
  }),
});
