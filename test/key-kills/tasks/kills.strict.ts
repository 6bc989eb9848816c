import { defineTask, PermanentError } from "offload";
import { input, noted } from "../work.ts";

export default defineTask({
  name: "kills.strict",
  description: "Notes its input. Some fail once, some for good.",
  input,
  concurrency: { key: ({ key }) => key, limit: 1, order: "strict" },
  timeoutSeconds: 60,
  maxAttempts: 20,
  handler: async (one, task) => {
    const { outcome, numbers } = await noted([one], task);
    if (outcome === "again") throw new Error("the first attempt fails, as planned");
    if (outcome === "failed") throw new PermanentError("the task fails, as planned");
    return numbers;
  },
});
