import { defineTask } from "offload";
import * as z from "zod";
import { probeCounters } from "../src/core/ports/probe-counters.ts";

export default defineTask({
  name: "probe.once",
  description: "Adds 1 to a durable counter once, fails its first attempt, and returns the count.",
  input: z.strictObject({ key: z.string().min(1).max(200), fail_first: z.boolean().default(true) }),
  timeoutSeconds: 30,
  handler: async ({ key, fail_first }, task) => {
    const count = await task.once(key, (idempotencyKey) => probeCounters().add(task.tenantId, key, idempotencyKey));
    if (fail_first && task.attemptOverall === 1) throw new Error("the first attempt fails, as it was told to");
    return { count };
  },
});
