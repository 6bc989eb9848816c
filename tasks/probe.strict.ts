import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.strict",
  description: "Sleeps, one task of a key after the other. Its first attempt may fail, or exit.",
  input: z.strictObject({ key: z.string(), ms: z.int().default(0), first: z.enum(["fails", "exits"]).optional() }),
  timeoutSeconds: 90,
  retry: { waitsSeconds: [20] },
  concurrency: { key: ({ key }) => key, limit: 1, order: "strict", onDeadLetter: "hold" },
  handler: async ({ ms, first }, task) => {
    const began = new Date().toISOString();
    if (first === "exits" && task.attemptOverall === 1) process.exit(1);
    if (first === "fails" && task.attemptOverall === 1) throw new Error("fails");
    await sleep(ms);
    return { began, ended: new Date().toISOString() };
  },
});
