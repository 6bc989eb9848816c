import type { Took } from "./contestant-process.ts";
import { type Built, buildSteps, environment, inMemory, Process } from "./contestants.ts";
import { type Benchmark, type Setting, type Spread, spreadOf } from "./measure.ts";
import { batchSize, stepsPerTask } from "./workload.ts";

/** One row: a contestant, and the tasks that one call does. */
interface Row {
  name: string;
  built: Built;
  tasksPerCall: number;
}

/** The most that Offload's CPU time may be, as a share of that of AWS's own SDK. */
const atMost = 0.5;

/** Rounds before the ones that count. */
const warmUps = 3;

type Measured = { cpuUs: Spread; wallUs: Spread }[];

/** Rounds in turn, so that other load on the machine affects all rows. */
async function measure(rows: readonly Row[], calls: number, { folder, rounds, note }: Setting): Promise<Measured> {
  const env = environment(folder);
  const processes = await Promise.all(rows.map(({ built }) => Process.start(built, env)));
  const taken: Took[][] = rows.map(() => []);
  for (let round = -warmUps; round < rounds; round++) {
    note(round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`);
    for (const [index, process] of processes.entries()) {
      const took = await process.ask<Took>({ kind: "run", calls });
      if (round >= 0) taken[index]?.push(took);
    }
  }
  for (const process of processes) process.stop();
  return taken.map((of, index) => {
    const us = (field: keyof Took) =>
      spreadOf(of.map((took) => (took[field] * 1000) / (rows[index]?.tasksPerCall ?? 1)));
    return { cpuUs: us("cpuMs"), wallUs: us("wallMs") };
  });
}

interface Options {
  name: string;
  title: string;
  /** Calls in a round. */
  calls: number;
  /** The first row is Offload's, whose goal counts; the last one is AWS's. */
  rows: (folder: string) => Row[];
  goal: string;
}

const stepsBenchmark = ({ name, title, calls, rows, goal }: Options): Benchmark => ({
  name,
  async run(setting) {
    const contestants = rows(setting.folder);
    const measured = await measure(contestants, calls, setting);
    const [own, other] = [measured[0], measured.at(-1)].map((one) => one?.cpuUs.median ?? 0) as [number, number];
    return {
      name,
      title: `${title}, microseconds per task`,
      columns: ["", "CPU", "half of the rounds", "of AWS's", "wall"],
      rows: measured.map(({ cpuUs, wallUs }, index) => [
        ...[
          contestants[index]?.name ?? "",
          cpuUs.median.toFixed(0),
          `${cpuUs.low.toFixed(0)} to ${cpuUs.high.toFixed(0)}`,
        ],
        ...[`x ${(cpuUs.median / other).toFixed(2)}`, wallUs.median.toFixed(0)],
      ]),
      goals: [
        { what: `${goal}: CPU, as a multiple of that of AWS's durable execution SDK`, value: own / other, atMost },
      ],
      data: measured,
    };
  },
});

/** The functions as they are deployed, over a transport that answers at once: SDK clients, signatures and JSON count. */
export const steps = stepsBenchmark({
  name: "steps",
  title: `A task of ${stepsPerTask} steps that do nothing, in a deployed function, over a transport that answers at once`,
  calls: 200,
  rows: (folder) => {
    const built = buildSteps(folder, "offload");
    return [
      { name: `offload, batches of ${batchSize}`, built: { ...built, kind: "ten-steps" }, tasksPerCall: batchSize },
      { name: "offload, batches of 1", built, tasksPerCall: 1 },
      { name: "durable function", built: buildSteps(folder, "durable"), tasksPerCall: 1 },
    ];
  },
  goal: "steps in a function",
});

const memoryRows = (kind: "memory" | "memory-sleeps"): [Row, Row] => [
  { name: "offload", built: inMemory("offload-memory", kind), tasksPerCall: 1 },
  { name: "durable function", built: inMemory("durable-memory", kind), tasksPerCall: 1 },
];

/** Whole tasks, with their services in the memory of the process: those of Offload's tests, and AWS's testing package. */
export const stepsInMemory = stepsBenchmark({
  name: "steps-memory",
  title: `A whole task of ${stepsPerTask} steps, with its services in memory`,
  calls: 20,
  rows: () => {
    const [own, other] = memoryRows("memory");
    // For comparison: less than a whole task, without the start, the store and the end of the execution.
    const bare = { name: "AWS's SDK, no service", built: inMemory("durable-bare", "memory"), tasksPerCall: 1 };
    return [own, bare, other];
  },
  goal: "steps in memory",
});

export const sleepsInMemory = stepsBenchmark({
  name: "sleeps-memory",
  title: `A whole task of ${stepsPerTask} steps and ${stepsPerTask - 1} sleeps that take no time, with its services in memory`,
  calls: 10,
  rows: () => memoryRows("memory-sleeps"),
  goal: "sleeps in memory",
});
