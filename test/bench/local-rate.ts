import { readdirSync, readFileSync } from "node:fs";
import { type Local, startLocal, submitMany } from "./local.ts";
import type { Benchmark, Report } from "./measure.ts";

/** Tasks before the measurement: the code is compiled then. */
const warmUp = 300;
const measured = 1_500;

/** Submits at the same time, of one client. */
const atOnce = 8;

/** The goal for a machine with two processors that does nothing else. */
const goalPerSecond = 600;

interface Cost {
  perSecond: number;
  serverMs: number;
  workersMs: number;
}

/**
 * Plain tasks that a local server does in a second, from one client, and what each costs of a processor. The times of a
 * processor hardly depend on other load, the rate does.
 */
export const localRate: Benchmark = {
  name: "local-rate",
  async run({ note }): Promise<Report> {
    const local = await startLocal();
    try {
      note("warm-up");
      await run(local, warmUp);
      note(`${measured} tasks`);
      const { perSecond, serverMs, workersMs } = await cost(local);
      const row = [perSecond.toFixed(0), serverMs.toFixed(2), workersMs.toFixed(2)];
      return {
        name: "local-rate",
        title: `${measured} plain tasks on a local server, ${atOnce} submits at a time`,
        columns: ["tasks a second", "server, ms of CPU a task", "workers, ms of CPU a task"],
        rows: [row],
        goals: [
          {
            what: `milliseconds a task, of ${goalPerSecond} a second`,
            value: 1000 / perSecond,
            atMost: 1000 / goalPerSecond,
          },
        ],
        data: { perSecond, serverMs, workersMs },
      };
    } finally {
      await local.stop();
    }
  },
};

async function cost(local: Local): Promise<Cost> {
  const before = new Map(family(local.pid).map((pid) => [pid, cpuMs(pid)]));
  const beganAt = Date.now() / 1000;
  const seconds = (await run(local, measured)) - beganAt;
  const used = family(local.pid).map((pid) => (cpuMs(pid) ?? 0) - (before.get(pid) ?? 0));
  const [server = 0, ...workers] = used;
  const workersMs = workers.reduce((sum, ms) => sum + ms, 0);
  return { perSecond: measured / seconds, serverMs: server / measured, workersMs: workersMs / measured };
}

/** Returns when the last task ended, in epoch seconds. */
async function run(local: Local, tasks: number): Promise<number> {
  const inputs = new Array(tasks).fill({ ms: 0 });
  const ids = await submitMany(local, inputs, { priority: "normal", atOnce });
  // Tasks start in the order of their submits, but for those of a few batches.
  return Math.max(...(await local.ends(ids.slice(-4 * atOnce))));
}

/** The server's process, and then its workers. Linux alone says it. */
const family = (pid: number): number[] => [pid, ...numbers().filter((one) => stat(one)?.parent === pid)];

const numbers = (): number[] =>
  process.platform === "linux" ? readdirSync("/proc").map(Number).filter(Number.isInteger) : [];

const cpuMs = (pid: number): number | undefined => stat(pid)?.cpuMs;

/** Linux counts in hundredths of a second. */
const tickMs = 10;

/** Undefined: the process has ended, or this is not Linux. */
function stat(pid: number): { parent: number; cpuMs: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { parent: Number(fields[1]), cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs };
  } catch {
    return undefined;
  }
}
