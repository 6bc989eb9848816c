import { BusinessRuleViolation, defineTask, PermanentError } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.onfailed",
  description: "Fails for good, and tells in its onFailed what it was told.",
  input: z.strictObject({
    how: z.enum(["permanent", "business_rule", "exit", "wait"]),
    /** Attempts of onFailed that fail. */
    on_failed_fails: z.int().min(0).max(20).default(0),
    refused: z
      .boolean()
      .refine((refused) => !refused, "the schema refuses it")
      .default(false),
  }),
  timeoutSeconds: 10,
  maxAttempts: 2,
  retry: { waitsSeconds: [1], jitter: "none" },
  handler: async ({ how }, task) => {
    if (how === "exit") process.exit(1);
    if (how === "wait") await task.waitFor("never", { timeoutSeconds: 600 });
    if (how === "business_rule") throw new BusinessRuleViolation("the order is closed");
    throw new PermanentError("the address is wrong");
  },
  onFailed: (input, failure, task) => {
    if (task.attempt <= input.on_failed_fails) throw new Error("the mail server is away");
    return { input, failure, attempt: task.attempt };
  },
});
