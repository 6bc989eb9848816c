import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.any",
  description: "Waits for one of several signals, and returns it.",
  input: z.strictObject({
    names: z.array(z.string().min(1).max(64)).min(1).max(10),
    timeout_seconds: z.number().min(0).max(31_536_000).nullable().default(null),
    until: z.iso.datetime({ offset: true }).nullable().default(null),
    link_seconds: z.number().nullable().default(null),
  }),
  timeoutSeconds: 30,
  handler: async ({ names, timeout_seconds, until, link_seconds: expiresInSeconds }, task) => {
    if (expiresInSeconds !== null) await task.step("link", () => task.signalUrl(names[0] ?? "", { expiresInSeconds }));
    const end = until === null ? { timeoutSeconds: timeout_seconds ?? 60 } : { until };
    const signals = Object.fromEntries(names.map((name) => [name, {}]));
    return { signal: (await task.waitForAny(signals, end)) ?? null, now: task.now().toISOString() };
  },
});
