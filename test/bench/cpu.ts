import type { Took } from "./contestant-process.ts";
import { build, buildStub, type Contestant, contestants, environment, type Kind, Process } from "./contestants.ts";
import { type Benchmark, type Goal, isWorse, type Report, type Setting, type Spread, spreadOf } from "./measure.ts";
import { batchSize } from "./workload.ts";

/** A ratio of CPU times: the most that it should be, and what it was when it was measured last, on an idle machine. */
interface Figure {
  goal: number;
  last: number;
}

interface Options {
  name: string;
  kind: Kind;
  title: string;
  /** Calls in a round. */
  calls: number;
  /** Tasks that one call does. */
  tasksPerCall: number;
  /** Offload's CPU time as a multiple of each other contestant's. */
  figures: Partial<Record<Contestant, Figure>>;
}

/** Rounds before the ones that count: V8 compiles what is called often. */
const warmUps = 3;

/**
 * CPU and wall time of each contestant's function over a transport that answers at once. Each has a process of its own; the
 * rounds go in turn, so that whatever else the machine does hits all of them. A contestant that only sends the requests
 * tells what the transport takes, which is subtracted from the others.
 */
export const cpuBenchmark = (options: Options): Benchmark => ({
  name: options.name,
  run: async (setting) => reportOf(options, await measure(options, setting)),
});

const rowNames = ["stub", ...contestants] as const;
type Measured = Record<(typeof rowNames)[number], { cpuUs: Spread; wallUs: Spread }>;

async function measure(options: Options, { folder, rounds, mostRounds = rounds, note }: Setting): Promise<Measured> {
  const { kind, calls, tasksPerCall } = options;
  const env = environment(folder);
  const built = [buildStub(folder, kind), ...build(folder, kind)];
  const processes = await Promise.all(built.map((one) => Process.start(one, env)));
  const taken: Took[][] = rowNames.map(() => []);
  const measured = () => measuredOf(taken, tasksPerCall);
  for (let round = -warmUps; round < rounds || (round < mostRounds && seemsWorse(options, measured())); round++) {
    note(round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`);
    for (const [index, process] of processes.entries()) {
      const took = await process.ask<Took>({ kind: "run", calls });
      if (round >= 0) taken[index]?.push(took);
    }
  }
  for (const process of processes) process.stop();
  return measured();
}

const measuredOf = (taken: readonly Took[][], tasksPerCall: number): Measured =>
  Object.fromEntries(
    rowNames.map((name, index) => {
      const us = (field: keyof Took) =>
        spreadOf((taken[index] ?? []).map((took) => (took[field] * 1000) / tasksPerCall));
      return [name, { cpuUs: us("cpuMs"), wallUs: us("wallMs") }];
    }),
  ) as Measured;

const seemsWorse = (options: Options, measured: Measured): boolean => goalsOf(options, measured).some(isWorse);

/** CPU of a contestant without that of the transport. Rounds of a busy machine are longer, so the least one counts. */
const own = (measured: Measured, contestant: Contestant): number =>
  measured[contestant].cpuUs.least - measured.stub.cpuUs.least;

const ratio = (measured: Measured, to: Contestant): number => own(measured, "offload") / own(measured, to);

const goalsOf = ({ kind, figures }: Options, measured: Measured): Goal[] =>
  contestants.flatMap((contestant): Goal[] => {
    const figure = figures[contestant];
    if (figure === undefined) return [];
    const what = `${kind}: CPU without the stub's, as a multiple of the ${contestant}'s`;
    return [{ what, value: ratio(measured, contestant), atMost: figure.goal, last: figure.last }];
  });

function reportOf(options: Options, measured: Measured): Report {
  const { name, title, tasksPerCall } = options;
  const unit = tasksPerCall === 1 ? "call" : "task";
  return {
    name,
    title: `${title}, microseconds per ${unit}; the stub's are subtracted where it says so`,
    columns: ["", "CPU", "half of the rounds", "least", "least without the stub", "of the floor", "wall"],
    rows: rowNames.map((one) => {
      const { cpuUs, wallUs } = measured[one];
      const half = `${cpuUs.low.toFixed(0)} to ${cpuUs.high.toFixed(0)}`;
      const row = [one, cpuUs.median.toFixed(0), half, cpuUs.least.toFixed(0)];
      if (one === "stub") return [...row, "", "", wallUs.median.toFixed(0)];
      const share = own(measured, one) / own(measured, "floor");
      return [...row, own(measured, one).toFixed(0), `x ${share.toFixed(2)}`, wallUs.median.toFixed(0)];
    }),
    goals: goalsOf(options, measured),
    data: measured,
  };
}

export const workerCpu = cpuBenchmark({
  name: "worker",
  kind: "worker",
  title: "Worker: batches of 10 tasks that do nothing, over a transport that answers at once",
  calls: 200,
  tasksPerCall: batchSize,
  figures: { floor: { goal: 0.5, last: 0.6 }, peer: { goal: 0.2, last: 0.22 } },
});

export const submitCpu = cpuBenchmark({
  name: "submit",
  kind: "submit",
  title: "Submit, over a transport that answers at once",
  calls: 800,
  tasksPerCall: 1,
  figures: { floor: { goal: 0.25, last: 0.3 } },
});

export const statusCpu = cpuBenchmark({
  name: "status",
  kind: "status",
  title: "Status poll, over a transport that answers at once",
  calls: 1_000,
  tasksPerCall: 1,
  figures: { floor: { goal: 0.2, last: 0.22 } },
});
