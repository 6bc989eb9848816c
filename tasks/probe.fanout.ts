import { defineTask } from "offload";
import * as z from "zod";
import child from "./probe.child.ts";

const input = z.strictObject({
  children: z.int().min(0).max(1_000_000),
  fail_every: z.int().min(1).nullable().default(null),
  threshold: z.number().min(0).max(1).default(1),
  child_ms: z.int().min(0).max(60_000).default(0),
  die_after: z.int().min(0).nullable().default(null),
  runs: z.boolean().default(false),
});

export default defineTask({
  name: "probe.fanout",
  description: "Spawns or runs children, of which every k-th fails.",
  input,
  timeoutSeconds: 840,
  children: { threshold: ({ threshold }) => threshold },
  handler: async ({ children, fail_every, threshold, child_ms, die_after, runs }, task) => {
    if (runs) {
      const run = (_: unknown, index: number) => {
        const number = index + 1;
        const fails = fail_every !== null && number % fail_every === 0;
        const end = task.run<unknown>({
          type: child.name,
          input: { number, ms: child_ms, fails },
          key: `child ${number}`,
        });
        return threshold < 1 ? end.catch((error: object) => ({ ...error })) : end;
      };
      const ends = await Promise.all(Array.from({ length: children }, run));
      if (task.attempt === 1 && die_after === children) process.exit(1);
      return ends;
    }
    for (let number = 1; number <= children; number++) {
      if (task.attemptOverall === 1 && die_after === number - 1) process.exit(1);
      const fails = fail_every !== null && number % fail_every === 0;
      await task.spawn(child, { number, ms: child_ms, fails });
    }
    return undefined;
  },
  aggregate: async ({ total, completed, failed, results }) => {
    let sum = 0;
    for await (const { status, result } of results()) {
      if (status === "completed") sum += (result as { number: number }).number;
    }
    return { total, completed, failed, sum };
  },
});
