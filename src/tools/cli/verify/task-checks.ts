import type { TaskView } from "../../../client/index.ts";
import { type Tier, tiers } from "../../../core/model/words.ts";
import { type Check, completed, expectSeen, msBetween, type Tools } from "./check.ts";

/* Checks that submit tasks, and look at when they start. */

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
    return expectSeen(Math.max(...first) <= coldMs && medianOf(second) <= warmMs, seen);
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
  const tasks = await Promise.all(Array.from({ length: count }, () => completed(tools, { priority })));
  return tasks.map(({ created_at, started_at }) => msBetween(created_at, started_at));
}

const figures = (waits: readonly number[]): string =>
  `median ${inWords(medianOf(waits))}, longest ${inWords(Math.max(...waits))}`;

/** The median, by nearest rank. */
const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length / 2) - 1] ?? 0;

/** A number of milliseconds in words. */
export const inWords = (ms: number): string => (ms < 10_000 ? `${Math.round(ms)} ms` : `${Math.round(ms / 1000)} s`);

/** A task starts at most this long after its time. The first one of a worker waits for its cold start. */
const mostLateMs = 10_000;

/** Time until a task that is due has ended, and a poll has seen it. */
const endSeconds = 120;

/** A delay in a message of SQS; the longest but one minute; and one beyond SQS, which EventBridge Scheduler keeps. */
const delays = [
  { seconds: 20, by: "SQS" },
  { seconds: 890, by: "SQS" },
  { seconds: 1_000, by: "EventBridge Scheduler" },
] as const;

export const delayChecks: readonly Check[] = delays.map(({ seconds, by }) => ({
  group: "delays",
  name: `delay of ${seconds} s, by ${by}`,
  expected: `starts 0 to ${mostLateMs / 1000} s after its time`,
  needs: ["sample"],
  most: { tasks: 1, seconds: seconds + endSeconds },
  run: async (tools: Tools) => expectOnTime(await completed(tools, { delaySeconds: seconds }), mostLateMs),
}));

/** Returns how late a task started. @throws Differs when it started before its time, or too late */
export function expectOnTime({ started_at, run_at }: TaskView, mostMs: number): string {
  const lateMs = msBetween(run_at, started_at);
  if (lateMs < 0) return expectSeen(false, `started ${-lateMs} ms before its time`);
  return expectSeen(lateMs <= mostMs, `started ${lateMs} ms after its time`);
}

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
    const task = await prober.completed("probe.crash", { how, times: 1 }, { priority: "low" });
    const { attempts, finished_at, created_at } = task;
    const [first] = await prober.client.attempts(task);
    const isNoted = attempts === 2 && (first?.outcome === "crashed" || first?.outcome === "timed_out");
    const seconds = Math.round(msBetween(created_at, finished_at) / 1000);
    return expectSeen(isNoted, `${first?.outcome}, then completed; ${attempts} attempts, ${seconds} s in all`);
  },
}));
