import type { TaskView } from "../../../client/index.ts";
import { type Check, expectSeen, type Tools } from "./check.ts";
import { sampleOf } from "./samples.ts";

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
  run: async (tools: Tools) => {
    const { type, input } = sampleOf(tools);
    const { taskId } = await tools.prober.submit(type, input, { delaySeconds: seconds });
    return expectOnTime(await tools.prober.until(taskId, "completed"), mostLateMs);
  },
}));

/** Returns how late a task started. @throws Differs when it started before its time, or too late */
export function expectOnTime({ started_at, run_at }: TaskView, mostMs: number): string {
  const lateMs = Date.parse(started_at ?? "") - Date.parse(run_at ?? "");
  if (lateMs < 0) return expectSeen(false, `started ${-lateMs} ms before its time`);
  return expectSeen(lateMs <= mostMs, `started ${lateMs} ms after its time`);
}
