import { setTimeout as sleep } from "node:timers/promises";
import { knownArrivals } from "../../src/tools/plan/arrivals.ts";
import { type DurationSpread, Durations, knownDurations } from "../../src/tools/plan/durations.ts";
import { awsModel, type LocalServer, localModel } from "../../src/tools/plan/model.ts";
import { seededRandom } from "../../src/tools/plan/random.ts";
import { readScenario } from "../../src/tools/plan/scenario.ts";
import { simulate } from "../../src/tools/plan/simulate.ts";
import { type Local, quantile, type Start, startLocal, submitMany } from "./local.ts";
import type { Benchmark, Goal, Report, Setting } from "./measure.ts";

/** One load: groups of tasks that come at once, and the pause after each. */
interface Load {
  name: string;
  tier: string;
  durations: DurationSpread;
  groups: number;
  tasksPerGroup: number;
  pauseMs: number;
  /** How long after its submit a task may start. */
  delaySeconds: number;
}

/**
 * Each brings more than eight processes can take at once, and tasks that take seconds. The waits of loads that fit, or of
 * quick tasks, are what this machine needs for a claim: they double whenever it does something else as well.
 */
const loads: readonly Load[] = [
  {
    // Submitted before the first one may start: on AWS a submit takes no time from workers, but on one machine hundreds of
    // them do while worker processes start. Eight processes take 80 tasks at once: neither the middle nor the last of 200
    // are where one batch more would double a wait.
    ...{ name: "200 tasks of 6 s at once", tier: "high", durations: { p50Ms: 6_000, p99Ms: 6_000 } },
    ...{ groups: 1, tasksPerGroup: 200, pauseMs: 0, delaySeconds: 12 },
  },
  {
    ...{ name: "60 tasks of 5 s every 2 s", tier: "normal", durations: { p50Ms: 5_000, p99Ms: 5_000 } },
    ...{ groups: 8, tasksPerGroup: 60, pauseMs: 2_000, delaySeconds: 0 },
  },
  {
    ...{ name: "100 tasks of 4 to 20 s every 3 s", tier: "low", durations: { p50Ms: 4_000, p99Ms: 20_000 } },
    ...{ groups: 4, tasksPerGroup: 100, pauseMs: 3_000, delaySeconds: 0 },
  },
];

/**
 * The planner beside reality: its speed, and its waits beside those of a local server. The server's pace is measured before
 * and after each load, as a machine that does other things as well changes its own from minute to minute.
 */
export const planner: Benchmark = {
  name: "planner",
  async run(setting) {
    const speed = measureSpeed();
    const local = await startLocal();
    try {
      return reportOf(speed, await compareAll(local, setting));
    } finally {
      await local.stop();
    }
  },
};

interface Compared {
  name: string;
  server: LocalServer;
  measured: { p50: number; p99: number };
  planned: { p50: number; p99: number };
}

/** Ten million tasks over a day, in four tiers, with failures and a burst. */
function measureSpeed(): { tasks: number; seconds: number } {
  const scenario = readScenario({
    tasksPerSecond: [20, 60, 200, 170],
    bursts: [{ atSeconds: 43_200, tasks: 300_000 }],
    tiers: { critical: { share: 0.1 }, high: { share: 0.2 }, normal: { share: 0.5 }, low: { share: 0.2 } },
    throttle: { requestsPerSecond: 1e6, burst: 1e6 },
  });
  const startedAt = performance.now();
  const { tiers } = simulate(awsModel(scenario));
  return { tasks: tiers.reduce((sum, { tasks }) => sum + tasks, 0), seconds: (performance.now() - startedAt) / 1000 };
}

async function compareAll(local: Local, { note }: Setting): Promise<Compared[]> {
  const compared: Compared[] = [];
  const measurePace = () => {
    note("measuring the local server's pace");
    return calibrate(local);
  };
  let before = await measurePace();
  for (const load of loads) {
    note(load.name);
    const { starts, tookSeconds } = await run(local, load);
    const after = await measurePace();
    const server = between(before, after);
    before = after;
    const first = Math.min(...starts.map(({ cameAt }) => cameAt));
    const arrivals = knownArrivals(starts.map(({ cameAt }) => cameAt - first));
    const seconds = Math.max(1, ...starts.map(({ cameAt }) => cameAt - first));
    const [outcome] = simulate(localModel(server, { arrivals, seconds, durations: knownDurations(tookSeconds) })).tiers;
    const waits = starts.map(({ cameAt, startedAt }) => startedAt - cameAt);
    compared.push({
      name: load.name,
      server,
      measured: { p50: quantile(waits, 0.5), p99: quantile(waits, 0.99) },
      planned: { p50: outcome?.waits.quantile(0.5) ?? 0, p99: outcome?.waits.quantile(0.99) ?? 0 },
    });
  }
  return compared;
}

/** The pace between two measurements. */
const between = (before: LocalServer, after: LocalServer): LocalServer => ({
  ...before,
  startSeconds: (before.startSeconds + after.startSeconds) / 2,
  batchSeconds: (before.batchSeconds + after.batchSeconds) / 2,
});

interface Ran {
  starts: Start[];
  /** How long each task took, in the order in which they came. */
  tookSeconds: number[];
}

async function run(local: Local, load: Load): Promise<Ran> {
  const { tier, durations, groups, tasksPerGroup, pauseMs, delaySeconds } = load;
  const random = seededRandom(5);
  const drawn = new Durations(durations);
  const inputs = Array.from({ length: groups * tasksPerGroup }, () => ({ ms: Math.round(drawn.draw(random) * 1000) }));
  const ids: Promise<string[]>[] = [];
  for (let group = 0; group < groups; group++) {
    const own = inputs.slice(group * tasksPerGroup, (group + 1) * tasksPerGroup);
    ids.push(submitMany(local, own, { priority: tier, delaySeconds }));
    await sleep(pauseMs);
  }
  const starts = await local.starts((await Promise.all(ids)).flat(), { delaySeconds });
  const came = starts.map(({ cameAt }, index) => ({ cameAt, ms: inputs[index]?.ms ?? 0 }));
  return { starts, tookSeconds: came.sort((a, b) => a.cameAt - b.cameAt).map(({ ms }) => ms / 1000) };
}

/** Worker processes of a tier at most, as in `src/local/workers/consumers.ts`. */
const processes = 8;

/** How long tasks of the calibration take that keep a process busy, and those that then follow in full batches. */
const busySeconds = 10;
const followingSeconds = 2;

/**
 * Measures the local server's pace in a tier that no load uses. First tasks that each find all processes busy: their wait is
 * what another process takes. Behind them so many tasks that all processes take full batches, one after the other: what a
 * batch takes longer than its tasks is its own cost.
 */
async function calibrate(local: Local): Promise<LocalServer> {
  const priority = "critical";
  const starting: number[] = [];
  for (let count = 0; count < processes; count++) {
    const taskId = await local.submit("probe.sleep", { ms: busySeconds * 1000 }, { priority });
    const [start] = await local.starts([taskId]);
    if (start !== undefined && count > 0) starting.push(start.startedAt - start.cameAt);
  }
  const following = new Array(processes * 10 * 3).fill({ ms: followingSeconds * 1000 });
  const starts = await local.starts(await submitMany(local, following, { priority }));
  const batches = starts
    .map(({ startedAt }) => startedAt)
    .sort((a, b) => a - b)
    .filter((_, index) => index % 10 === 0);
  const rounds = batches.slice(processes).map((at, index) => at - (batches[index] ?? at));
  return {
    processes,
    startSeconds: quantile(starting, 0.5),
    batchSeconds: Math.max(0, quantile(rounds, 0.5) - followingSeconds),
    gatherSeconds: 0.01,
  };
}

function reportOf(speed: { tasks: number; seconds: number }, compared: readonly Compared[]): Report {
  const off = (planned: number, measured: number) => Math.abs(planned / measured - 1);
  const goals = compared.flatMap(({ name, measured, planned }): Goal[] => [
    { what: `${name}: median wait, off by`, value: off(planned.p50, measured.p50), atMost: 0.25 },
    { what: `${name}: p99 wait, off by`, value: off(planned.p99, measured.p99), atMost: 0.25 },
  ]);
  const seconds = (value: number) => value.toFixed(2);
  return {
    name: "planner",
    title: "Waits on a local server, measured and planned, in seconds, beside the server's pace",
    columns: ["", "p50", "planned", "p99", "planned", "to start a process", "for a batch beside its tasks"],
    rows: compared.map(({ name, server, measured, planned }) => [
      name,
      ...[measured.p50, planned.p50, measured.p99, planned.p99, server.startSeconds, server.batchSeconds].map(seconds),
    ]),
    goals: [
      { what: `seconds for ${(speed.tasks / 1e6).toFixed(1)} million tasks`, value: speed.seconds, atMost: 60 },
      ...goals,
    ],
    data: { speed, compared },
  };
}
