import { defineTask } from "offload";
import { input, noted } from "../work.ts";

export default defineTask({
  name: "kills.collect",
  description: "Notes which inputs its list has.",
  input,
  collect: { maxItems: 20, waitSeconds: 2 },
  timeoutSeconds: 60,
  maxAttempts: 20,
  handler: async (inputs, task) => (await noted(inputs, task)).numbers,
});
