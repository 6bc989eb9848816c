import { defineTask } from "offload";
import { input, noted } from "../work.ts";

export default defineTask({
  name: "kills.collect",
  description: "Notes which inputs its list has. One list of a key runs at a time.",
  input,
  collect: { maxItems: 20, waitSeconds: 2 },
  concurrency: { key: ({ key }) => key, limit: 1 },
  timeoutSeconds: 60,
  maxAttempts: 20,
  handler: async (inputs, task) => (await noted(inputs, task)).numbers,
});
