import { type Check, NotPossible, secondsSince, type Tools, untilSeen } from "./check.ts";

/** CloudWatch has metrics of an idle queue again after up to 15 minutes. */
const lateSeconds = 1_380;
const lookEveryMs = 15_000;

export const alarmChecks: readonly Check[] = [
  {
    group: "alarms",
    name: "an alarm, on and off",
    expected: "the alarm on dead letters of tier low is on after a task failed for good, and off after its discard",
    needs: ["deployed", "admin", "probe.fail"],
    most: { tasks: 1, seconds: lateSeconds },
    warning: "The alarms low-dead-letters and new-failure go on, and their receivers are told.",
    run: async (tools) => {
      const before = await dlqAlarm(tools);
      if (before === "alarm") throw new NotPossible("the alarm is on already: the tier has other dead letters");
      const message = "expected failure of a verification, which discards it";
      const { taskId } = await tools.prober.submit("probe.fail", { kind: "permanent", message }, { priority: "low" });
      await tools.prober.until(taskId, "failed");
      const onSeconds = await untilAlarm(tools, (state) => state === "alarm");
      await tools.prober.discard([taskId]);
      const offSeconds = await untilAlarm(tools, (state) => state !== "alarm");
      return `on after ${onSeconds} s, off ${offSeconds} s after the discard`;
    },
  },
];

/** State of the alarm on the tier's dead letters. @throws NotPossible when there is none */
async function dlqAlarm({ admin }: Tools): Promise<string> {
  const found = (await admin.alarms()).find(({ name }) => name.endsWith("low-dead-letters"));
  if (found === undefined) throw new NotPossible("the deployment has no alarms");
  return found.state;
}

/** Waits until the alarm has a state. Returns how long that took, in seconds. */
async function untilAlarm(tools: Tools, isIt: (state: string) => boolean): Promise<number> {
  const startedAtMs = tools.clock.now();
  return untilSeen(tools, { withinMs: lateSeconds * 1000, everyMs: lookEveryMs }, async () => {
    const state = await dlqAlarm(tools);
    const seconds = secondsSince(tools, startedAtMs);
    return isIt(state) ? seconds : `still ${state} after ${seconds} s`;
  });
}
