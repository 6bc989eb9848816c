import { accountOf, type Check, msBetween, NotPossible, type Tools, untilSeen } from "./check.ts";

const taskMs = 20_000;
const startSeconds = 420;
/** Ten minutes without a message that waits, and the time that ECS needs. */
const stopSeconds = 960;
const lookEveryMs = 10_000;

/** One container of 1 CPU and 2 GB with a public address, for the whole check. */
const dollars = 0.03;

export const containerChecks: readonly Check[] = [
  {
    group: "containers",
    name: "task in a container",
    expected: `a container starts and completes the task within ${startSeconds / 60} minutes`,
    needs: ["probe.long"],
    most: { tasks: 1, seconds: startSeconds, dollars },
    run: async (tools) => {
      const { isLocal, account } = tools.target;
      if (account !== undefined && account.facts.containers === undefined) {
        throw new NotPossible("no containers are started there: deployed without `containers`, or with `maxTasks: 0`");
      }
      if (isLocal) throw new NotPossible("the local server starts no containers: `npx offload work` does it");
      const { created_at, started_at } = await longTask(tools);
      return `started after ${Math.round(msBetween(created_at, started_at) / 1000)} s`;
    },
  },
  {
    group: "containers",
    name: "containers 0, 1, 0",
    expected: "none before the task, one for it, and none again within 16 minutes of its end",
    needs: ["containers", "probe.long"],
    most: { tasks: 1, seconds: startSeconds + stopSeconds },
    run: async (tools) => {
      const before = await accountOf(tools).containers();
      if (before.desired > 0) throw new NotPossible(`${before.desired} containers run already`);
      const startedAtMs = tools.clock.now();
      const ended = longTask(tools);
      const up = await untilRunning(tools, startSeconds, (running) => running > 0);
      await ended;
      const down = await untilRunning(tools, stopSeconds, (running) => running === 0);
      const seconds = (ms: number) => Math.round((ms - startedAtMs) / 1000);
      return `0, then 1 after ${seconds(up)} s, then 0 after ${seconds(down)} s`;
    },
  },
];

const longTask = ({ prober }: Tools) => prober.completed("probe.long", { ms: taskMs });

/** Waits until the number of running containers is as asked. Returns the time, in epoch milliseconds. */
const untilRunning = (tools: Tools, seconds: number, isIt: (running: number) => boolean): Promise<number> =>
  untilSeen(tools, { withinMs: seconds * 1000, everyMs: lookEveryMs }, async () => {
    const { desired, running } = await accountOf(tools).containers();
    return isIt(running) ? tools.clock.now() : `${running} run and ${desired} are wanted after ${seconds} s`;
  });
