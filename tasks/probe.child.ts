import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, PermanentError } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.child",
  description: "A child of probe.fanout: sleeps, then returns its number, or fails for good.",
  input: z.strictObject({
    number: z.int().min(1),
    ms: z.int().min(0).max(60_000).default(0),
    fails: z.boolean().default(false),
  }),
  timeoutSeconds: 90,
  handler: async ({ number, ms, fails }, task) => {
    if (ms > 0) await sleep(ms, undefined, { signal: task.signal });
    if (fails) throw new PermanentError(`child ${number} fails, as its input requested`);
    return { number };
  },
});
