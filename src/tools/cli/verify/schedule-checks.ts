import type { DeadFiring } from "../../../aws/verified/verified-account.ts";
import { accountOf, type Check, expectSeen, sampleOf, secondsSince, type Tools, untilSeen } from "./check.ts";
import { expectOnTime } from "./task-checks.ts";

/** Beyond what a message of SQS can wait, so EventBridge Scheduler keeps it. */
const delaySeconds = 930;
const brokenDelaySeconds = 960;
const endSeconds = 300;

/** The schedule is there once the submit is answered; AWS may list it later. */
const listedMs = 20_000;
const lookEveryMs = 5_000;

/** The Scheduler deletes a schedule that has completed, some time later. */
const goneSeconds = 180;

/** A firing that goes the way of a dead letter may be so late: its lead of a minute covers most of it. */
const mostLateMs = 60_000;

const deadFiringSeconds = 600;

/** Lambda tries a failed input again after one minute and after two more. */
const lambdaTriesMs = 180_000;
const deadInputSeconds = 600;
const queryEveryMs = 30_000;

export const scheduleChecks: readonly Check[] = [
  {
    group: "schedules",
    name: "one-off schedule of a task",
    expected: `exists while the task waits ${delaySeconds} s, for a minute before its time, and is gone ${goneSeconds} s after its end`,
    needs: ["account", "sample"],
    most: { tasks: 1, seconds: delaySeconds + endSeconds + goneSeconds },
    run: async (tools) => {
      const { taskId, expression } = await withOneOff(tools, delaySeconds);
      const task = await tools.prober.until(taskId, "completed");
      const due = new Date(Date.parse(task.run_at ?? "") - 60_000).toISOString().slice(0, 19);
      const late = expectOnTime(task, mostLateMs);
      const endedAtMs = tools.clock.now();
      await untilThere(tools, goneSeconds * 1000, async () => (await accountOf(tools).oneOffOf(taskId)) === undefined);
      const seconds = secondsSince(tools, endedAtMs);
      return expectSeen(expression === `at(${due})`, `${expression}; task ${late}; gone ${seconds} s after the end`);
    },
  },
  {
    group: "schedules",
    name: "one-off schedule whose target is missing",
    expected: `the Scheduler's dead letter starts the task all the same, at most ${mostLateMs / 1000} s late`,
    needs: ["account", "sample"],
    most: { tasks: 1, seconds: brokenDelaySeconds + endSeconds },
    run: async (tools) => {
      const { taskId, name } = await withOneOff(tools, brokenDelaySeconds);
      await accountOf(tools).breakOneOff(name);
      return expectOnTime(await tools.prober.until(taskId, "completed"), mostLateMs);
    },
  },
  {
    group: "schedules",
    name: "code schedule whose target is missing",
    expected: "the firing is in the DLQ of schedules, with its input as the body",
    needs: ["account"],
    most: { tasks: 0, seconds: deadFiringSeconds },
    warning: "The alarm firings-gave-up may go on for a minute, and its receivers are told.",
    run: async (tools) => {
      const account = accountOf(tools);
      const name = `offload-verify-${tools.prober.run}`;
      const atMs = Math.ceil(tools.clock.now() / 60_000) * 60_000 + 60_000;
      let found: DeadFiring | undefined;
      try {
        await account.createBroken(name, atMs);
        found = await untilThere(tools, (deadFiringSeconds - 60) * 1000, () => account.takeDeadFiring(name));
        const seconds = secondsSince(tools, atMs);
        const seen = `after ${seconds} s; attributes: ${found.attributes.join(", ") || "none"}`;
        return expectSeen(found.body === JSON.stringify({ verify: name }), seen);
      } finally {
        await account.deleteSchedule(name);
        if (found === undefined) await account.takeDeadFiring(name);
      }
    },
  },
  {
    group: "schedules",
    name: "input that the function of schedules cannot read",
    expected: "Lambda tries it three times, and its dead letter has the input as the body, and the error as attributes",
    needs: ["account"],
    most: { tasks: 0, seconds: deadInputSeconds },
    warning: "The alarm schedule-refused may go on for some minutes, and its receivers are told.",
    run: async (tools) => {
      const startedAtMs = tools.clock.now();
      // Not an event of SQS, although it looks like one: the function throws.
      const input = JSON.stringify({ Records: [null], verify: `offload-verify-${tools.prober.run}` });
      await accountOf(tools).fireWith(input);
      await tools.clock.pause(lambdaTriesMs);
      const withinMs = deadInputSeconds * 1000 - lambdaTriesMs - 60_000;
      const { payload, error } = await untilThere(
        tools,
        withinMs,
        () => refusedInput(tools, startedAtMs),
        queryEveryMs,
      );
      const seen = `after ${secondsSince(tools, startedAtMs)} s; error: ${error}`;
      return expectSeen(payload === input && error !== "unknown", seen);
    },
  },
];

/**
 * Finds the line that the function of schedules writes about an input of this run that it could not read. It reads the
 * queue of dead letters itself.
 */
async function refusedInput(tools: Tools, sinceMs: number): Promise<{ payload: string; error: string } | undefined> {
  const account = accountOf(tools);
  const text = `fields @message | filter @message like "could not read a firing" and @message like "${tools.prober.run}"`;
  const { rows } = await account.query({ text, logGroups: account.facts.logGroups }, sinceMs);
  // An emulator keeps all lines of an invocation as one.
  const lines = rows.flatMap((row) => (row["@message"] ?? "").split("\n"));
  const line = lines.find((one) => one.startsWith("{") && one.includes("could not read a firing"));
  return line === undefined ? undefined : JSON.parse(line);
}

/** Submits a task with a delay, and finds its one-off schedule. */
async function withOneOff(tools: Tools, seconds: number) {
  const { type, input } = sampleOf(tools);
  const { taskId } = await tools.prober.submit(type, input, { delaySeconds: seconds });
  const oneOff = await untilThere(tools, listedMs, () => accountOf(tools).oneOffOf(taskId));
  return { taskId, ...oneOff };
}

/** Looks until there is something. @throws Differs when there is nothing within the time */
const untilThere = <T>(
  tools: Tools,
  withinMs: number,
  look: () => Promise<T | undefined | false>,
  everyMs = lookEveryMs,
): Promise<T> => {
  const late = `not seen within ${Math.round(withinMs / 1000)} s`;
  return untilSeen<T>(tools, { withinMs, everyMs }, async () => (await look()) || late);
};
