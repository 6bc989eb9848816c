import type { TaskView } from "../../../client/index.ts";
import { type Tier, tiers } from "../../../core/model/words.ts";
import { type Check, expectSeen, type Tools } from "./check.ts";
import { inWords, rank, sampleOf } from "./samples.ts";

const tasksPerRound = 10;

/** Bounds of the waits: a cold worker starts within seconds, a warm one takes a task at once. */
const coldMs = 30_000;
const warmMs = 3_000;

/** Idle time after which Lambda has most likely ended a worker, and the tasks that come then. */
const idleMinutes = 30;
const burstTasks = 300;

export const waitChecks: readonly Check[] = tiers.map((tier) => ({
  group: "waits",
  name: `waits in tier ${tier}`,
  expected: `${tasksPerRound} tasks at once start within ${coldMs / 1000} s, and ${tasksPerRound} more within ${warmMs / 1000} s (median)`,
  needs: ["sample"],
  most: { tasks: 2 * tasksPerRound, seconds: 180 },
  run: async (tools: Tools) => {
    const first = await waitsOf(tools, tier, tasksPerRound);
    const second = await waitsOf(tools, tier, tasksPerRound);
    const seen = `first ${figures(first)}; then ${figures(second)}`;
    return expectSeen(Math.max(...first) <= coldMs && rank(second, 0.5) <= warmMs, seen);
  },
}));

export const burstChecks: readonly Check[] = [
  {
    group: "burst",
    name: `burst after ${idleMinutes} idle minutes`,
    expected: `${burstTasks} tasks at once in tier critical complete, the last one starts within 60 s`,
    needs: ["long", "sample"],
    most: { tasks: burstTasks, seconds: idleMinutes * 60 + 300 },
    run: async (tools) => {
      await tools.clock.pause(idleMinutes * 60_000);
      const waits = await waitsOf(tools, "critical", burstTasks);
      return expectSeen(Math.max(...waits) <= 60_000, figures(waits));
    },
  },
];

/** Submits tasks at once, and returns the time from the creation to the start of each, in milliseconds. */
async function waitsOf(tools: Tools, priority: Tier, count: number): Promise<number[]> {
  const { type, input } = sampleOf(tools);
  const one = async () => {
    const { taskId } = await tools.prober.submit(type, input, { priority });
    return waitOf(await tools.prober.until(taskId, "completed"));
  };
  return Promise.all(Array.from({ length: count }, one));
}

const waitOf = ({ created_at, started_at }: TaskView): number => Date.parse(started_at ?? "") - Date.parse(created_at);

const figures = (waits: readonly number[]): string =>
  `median ${inWords(rank(waits, 0.5))}, longest ${inWords(Math.max(...waits))}`;
