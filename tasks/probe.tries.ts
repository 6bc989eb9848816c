import { defineTask, type StepFailed } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.tries",
  description: "Has a step that fails some times, and one that does not.",
  input: z.strictObject({
    failures: z.int().min(0).max(100),
    max_attempts: z.int().min(1).max(20).default(3),
    base_seconds: z.int().min(0).max(86_400).default(1),
    factor: z.number().min(1).max(100).default(1),
    catches: z.boolean().default(false),
  }),
  timeoutSeconds: 30,
  handler: async ({ failures, max_attempts, base_seconds, factor, catches }, task) => {
    const options = { maxAttempts: max_attempts, retry: { baseSeconds: base_seconds, factor } };
    const failing = task.step("fails", options, (_key, { attempt }) => {
      if (attempt <= failures) throw new Error(`attempt ${attempt} of the step fails, as its input requested`);
      return attempt;
    });
    const beside = task.step("beside", { maxAttempts: 2 }, (_key, { attempt }) => attempt);
    try {
      return { attempts: await Promise.all([failing, beside]), failed: null };
    } catch (error) {
      const { name, attempts, step, cause } = error as StepFailed;
      if (!catches || name !== "StepFailed") throw error;
      return { attempts: [attempts, await beside], failed: { step, cause: cause.message } };
    }
  },
});
