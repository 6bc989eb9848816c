import { type Check, expectSeen } from "./check.ts";

const ways = { memory: "a worker out of memory", block: "a worker out of time" } as const;

/** A worker that blocks is ended by Lambda at the time-out of its function, 15 minutes at most: 0.5 GB of them. */
const blockedDollars = 0.01;

export const crashChecks: readonly Check[] = Object.entries(ways).map(([how, name]) => ({
  group: "crashes",
  name,
  expected: "the attempt is noted as crashed or timed out, and the second one completes",
  needs: ["probe.crash"],
  most: { tasks: 1, seconds: 1_200, dollars: blockedDollars },
  warning: "Two attempts end their worker of the tier low: tasks that run beside them there start once more.",
  run: async ({ prober }) => {
    const { taskId } = await prober.submit("probe.crash", { how, times: 1 }, { priority: "low" });
    const { attempts, finished_at, created_at } = await prober.until(taskId, "completed");
    const [first] = await prober.client.attempts(taskId);
    const isNoted = attempts === 2 && (first?.outcome === "crashed" || first?.outcome === "timed_out");
    const seconds = Math.round((Date.parse(finished_at ?? "") - Date.parse(created_at)) / 1000);
    return expectSeen(isNoted, `${first?.outcome}, then completed; ${attempts} attempts, ${seconds} s in all`);
  },
}));
