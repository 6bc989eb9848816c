import { defineTask } from "offload";
import { input, noted } from "../work.ts";

export default defineTask({
  name: "kills.restart",
  description: "Notes its input, and stops when it is cancelled.",
  input,
  timeoutSeconds: 60,
  maxAttempts: 20,
  handler: async (one, task) => (await noted([one], task)).numbers,
});
