import type { Took } from "./contestant-process.ts";
import { build, type Contestant, contestants, environment, type Kind, Process } from "./contestants.ts";
import { type Benchmark, type Goal, type Report, type Setting, type Spread, spreadOf } from "./measure.ts";
import { batchSize } from "./workload.ts";

interface Options {
  name: string;
  kind: Kind;
  title: string;
  /** Calls in a round. */
  calls: number;
  /** Tasks that one call does. */
  tasksPerCall: number;
  /** The most that Offload's CPU time may be, as a multiple of each other contestant's. */
  atMost: Partial<Record<Contestant, number>>;
}

/** Rounds before the ones that count: V8 compiles what is called often. */
const warmUps = 3;

/**
 * CPU and wall time of each contestant's function over a transport that answers at once. Each has a process of its own; the
 * rounds go in turn, so that whatever else the machine does hits all of them.
 */
export const cpuBenchmark = (options: Options): Benchmark => ({
  name: options.name,
  run: async (setting) => reportOf(options, await measure(options, setting)),
});

type Measured = Record<Contestant, { cpuUs: Spread; wallUs: Spread; ratios: Spread }>;

async function measure({ kind, calls, tasksPerCall }: Options, { folder, rounds, note }: Setting): Promise<Measured> {
  const env = environment(folder);
  const built = build(folder, kind);
  const processes = await Promise.all(built.map((one) => Process.start(one, env)));
  const taken: Took[][] = contestants.map(() => []);
  for (let round = -warmUps; round < rounds; round++) {
    note(round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`);
    for (const [index, process] of processes.entries()) {
      const took = await process.ask<Took>({ kind: "run", calls });
      if (round >= 0) taken[index]?.push(took);
    }
  }
  for (const process of processes) process.stop();
  const us = (index: number, field: keyof Took) =>
    (taken[index] ?? []).map((took) => (took[field] * 1000) / tasksPerCall);
  const floor = us(0, "cpuMs");
  return Object.fromEntries(
    contestants.map((contestant, index) => {
      const cpu = us(index, "cpuMs");
      const ratios = cpu.map((one, round) => one / (floor[round] ?? one));
      return [contestant, { cpuUs: spreadOf(cpu), wallUs: spreadOf(us(index, "wallMs")), ratios: spreadOf(ratios) }];
    }),
  ) as Measured;
}

function reportOf({ name, kind, title, tasksPerCall, atMost }: Options, measured: Measured): Report {
  const own = measured.offload.cpuUs.median;
  const goals = contestants.flatMap((contestant): Goal[] => {
    const most = atMost[contestant];
    const value = own / measured[contestant].cpuUs.median;
    return most === undefined
      ? []
      : [{ what: `${kind}: CPU, as a multiple of the ${contestant}'s`, value, atMost: most }];
  });
  return {
    name,
    title: `${title}, microseconds per ${tasksPerCall === 1 ? "call" : "task"}`,
    columns: ["", "CPU", "half of the rounds", "of the floor", "wall"],
    rows: contestants.map((contestant) => {
      const { cpuUs, wallUs, ratios } = measured[contestant];
      const half = `${cpuUs.low.toFixed(0)} to ${cpuUs.high.toFixed(0)}`;
      return [contestant, cpuUs.median.toFixed(0), half, `x ${ratios.median.toFixed(2)}`, wallUs.median.toFixed(0)];
    }),
    goals,
    data: measured,
  };
}

export const workerCpu = cpuBenchmark({
  name: "worker",
  kind: "worker",
  title: "Worker: batches of 10 tasks that do nothing, over a transport that answers at once",
  calls: 200,
  tasksPerCall: batchSize,
  atMost: { floor: 1.1, peer: 0.5 },
});

export const submitCpu = cpuBenchmark({
  name: "submit",
  kind: "submit",
  title: "Submit, over a transport that answers at once",
  calls: 800,
  tasksPerCall: 1,
  atMost: { floor: 1.1 },
});

export const statusCpu = cpuBenchmark({
  name: "status",
  kind: "status",
  title: "Status poll, over a transport that answers at once",
  calls: 1_000,
  tasksPerCall: 1,
  atMost: { floor: 1 },
});
