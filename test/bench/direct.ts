import { knownArrivals } from "../../src/tools/plan/arrivals.ts";
import { frontLines } from "../../src/tools/plan/cost.ts";
import { prices } from "../../src/tools/plan/figures.ts";
import { awsModel } from "../../src/tools/plan/model.ts";
import { readScenario } from "../../src/tools/plan/scenario.ts";
import { simulate } from "../../src/tools/plan/simulate.ts";
import type { Took } from "./contestant-process.ts";
import { type Built, build, buildDirect, environment, Process } from "./contestants.ts";
import { type Benchmark, type Setting, type Spread, spreadOf } from "./measure.ts";
import { type Asked, countCalls } from "./requests.ts";
import { submitRequest } from "./workload.ts";

/** Calls in a round, and rounds before the ones that count. */
const calls = 800;
const warmUps = 3;

/** Tasks that the planner simulates: their price is in proportion to their number. */
const simulatedTasks = 1_000;

interface Measured {
  cpuUs: Spread;
  asked: Asked;
  /** US dollars per million submits. */
  price: number;
}

/** A submit over HTTP beside a direct one: CPU, requests and price. The transport answers at once. */
export const directSubmit: Benchmark = {
  name: "direct",
  async run(setting) {
    const http = build(setting.folder, "submit").find(({ contestant }) => contestant === "offload") as Built;
    const [overHttp, direct] = (await measure([http, buildDirect(setting.folder)], setting)) as [Measured, Measured];
    return {
      name: "direct",
      title: "Submit over HTTP and directly: microseconds per call, requests per call, dollars per million",
      columns: ["", "CPU", "half of the rounds", "writes", "write units", "reads", "SQS requests", "price"],
      rows: [rowOf("HTTP", overHttp), rowOf("direct", direct)],
      goals: [
        {
          ...{ what: "CPU, against the function's", value: direct.cpuUs.least / overHttp.cpuUs.least },
          ...{ atMost: 1.1, last: 1 },
        },
        {
          what: "write units, against the function's",
          value: direct.asked.writeUnits,
          atMost: overHttp.asked.writeUnits,
        },
        { what: "reads", value: direct.asked.reads, atMost: 0 },
        { what: "SQS requests, against the function's", value: direct.asked.queue, atMost: overHttp.asked.queue },
        { what: "price, as a part of the price over HTTP", value: direct.price / overHttp.price, atMost: 0.5 },
      ],
      data: { overHttp, direct },
    };
  },
};

const rowOf = (name: string, { cpuUs, asked, price }: Measured): string[] => [
  ...[name, cpuUs.median.toFixed(0), `${cpuUs.low.toFixed(0)} to ${cpuUs.high.toFixed(0)}`],
  ...[asked.writes, asked.writeUnits, asked.reads, asked.queue].map((count) => count.toFixed(2)),
  `$${price.toFixed(2)}`,
];

async function measure(both: readonly Built[], { folder, rounds, note }: Setting): Promise<Measured[]> {
  const env = environment(folder);
  const asked = await Promise.all(
    both.map(async (built) => (await countCalls(built, env, [submitRequest])).perCall[0]),
  );
  const processes = await Promise.all(both.map((built) => Process.start(built, env)));
  const cpuUs: number[][] = both.map(() => []);
  for (let round = -warmUps; round < rounds; round++) {
    note(round < 0 ? "warming up" : `round ${round + 1} of ${rounds}`);
    for (const [index, process] of processes.entries()) {
      const { cpuMs } = await process.ask<Took>({ kind: "run", calls });
      if (round >= 0) cpuUs[index]?.push(cpuMs * 1000);
    }
  }
  for (const process of processes) process.stop();
  return both.map(({ contestant }, index) => {
    const own = asked[index] as Asked;
    return { cpuUs: spreadOf(cpuUs[index] ?? []), asked: own, price: priceOf(own, contestant !== "direct") };
  });
}

/** The price of a million submits: requests to AWS and logs; over HTTP the gateway and two functions, as the planner has them. */
export function priceOf({ writeUnits, queue }: Asked, overHttp: boolean): number {
  const scenario = readScenario({ pollsPerTask: 0, failureRate: 0 });
  const outcome = simulate(awsModel(scenario, knownArrivals(new Array(simulatedTasks).fill(0))));
  const front = frontLines(scenario, outcome).reduce((sum, { perMonth }) => sum + perMonth, 0) * (1e6 / simulatedTasks);
  const logs = (scenario.overhead.submitLogBytes * prices.logs.value) / 1e3;
  return writeUnits * prices.tableWrites.value + queue * prices.queueRequests.value + (overHttp ? front : logs);
}
