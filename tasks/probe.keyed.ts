import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.keyed",
  description: "Sleeps, at most three tasks of a key at the same time.",
  input: z.strictObject({ key: z.string().min(1).max(256), ms: z.int().min(0).max(600_000) }),
  timeoutSeconds: 620,
  concurrency: { key: ({ key }) => key, limit: 3 },
  handler: async ({ ms }, task) => {
    const began = new Date().toISOString();
    await sleep(ms, undefined, { signal: task.signal });
    return { began, ended: new Date().toISOString() };
  },
});
