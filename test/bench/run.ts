import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { columns } from "../../src/machine/columns.ts";
import { coldStart } from "./cold-start.ts";
import { kinds } from "./contestants.ts";
import { statusCpu, submitCpu, workerCpu } from "./cpu.ts";
import { directSubmit } from "./direct.ts";
import { emulatedBenchmark } from "./emulated.ts";
import { localRate } from "./local-rate.ts";
import { type Benchmark, isMet, isWorse, type Report } from "./measure.ts";
import { planner } from "./planner.ts";
import { reload } from "./reload.ts";
import { requests } from "./requests.ts";
import { sleepsInMemory, steps, stepsInMemory } from "./steps.ts";
import { tierLatency } from "./tiers.ts";

/** What each task costs. They count, and compare processor time, so that they tell something on a busy machine too. */
const hotPath: readonly Benchmark[] = [requests, workerCpu, submitCpu, statusCpu, directSubmit];

const benchmarks: readonly Benchmark[] = [
  ...hotPath,
  steps,
  stepsInMemory,
  sleepsInMemory,
  coldStart,
  ...kinds.map(emulatedBenchmark),
  tierLatency,
  localRate,
  planner,
  reload,
];

/** Rounds of the short form, and the most of a figure that seems worse than the last one: other load passes. */
const shortRounds = 3;
const mostShortRounds = 24;

const help = `Usage: npm run bench -- [names, or parts of names] [--rounds 15] [--short] [--json .offload/bench.json]

Compares Offload with a floor (the bare AWS calls with the SDK) and a peer (the same work on Powertools), in turn on this
machine. The transport of the benchmark itself is subtracted from the CPU times of worker, submit and status.
docs/performance.md says what each benchmark measures. --short makes few rounds: it shows that each benchmark runs, and fails
only when a figure of the hot path (${hotPath.map(({ name }) => name).join(", ")})
is worse than the last one that was noted by a tenth, or a count is above its goal.

Benchmarks: ${benchmarks.map(({ name }) => name).join(", ")}`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "15" },
    short: { type: "boolean", default: false },
    json: { type: "string", default: ".offload/bench.json" },
    help: { type: "boolean", short: "h", default: false },
  },
});

const isHot = (name: string): boolean => hotPath.some((benchmark) => benchmark.name === name);

if (values.help) console.log(help);
else process.exitCode = await runAll();

async function runAll(): Promise<number> {
  const rounds = values.short ? shortRounds : Number(values.rounds);
  const chosen = benchmarks.filter(({ name }) => isChosen(name));
  const unknown = positionals.find((given) => !benchmarks.some(({ name }) => name.includes(given)));
  if (unknown !== undefined || !(rounds >= 1)) {
    const wrong =
      unknown === undefined ? "rounds start at 1" : `no benchmark has ${JSON.stringify(unknown)} in its name`;
    console.error(`${wrong}\n\n${help}`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), "offload-bench-"));
  const reports: Report[] = [];
  try {
    for (const benchmark of chosen) {
      const report = await benchmark.run({
        folder,
        rounds,
        ...(values.short && { mostRounds: mostShortRounds }),
        note: (line) => note(benchmark, line),
      });
      note(undefined, "");
      console.log(textOf(report));
      reports.push(report);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  mkdirSync(dirname(values.json), { recursive: true });
  writeFileSync(values.json, JSON.stringify({ ...machine(), reports }, null, 2));
  console.log(`All figures: ${values.json}`);
  const failed = reports.flatMap(({ name, goals }) =>
    goals.filter((goal) => (values.short ? isHot(name) && isWorse(goal) : !isMet(goal))),
  );
  for (const { what, value, last } of failed) {
    const worse = values.short && last !== undefined;
    console.error(worse ? `Worse: ${what}: ${value.toPrecision(3)}, was ${last}` : `Missed: ${what}`);
  }
  return failed.length === 0 ? 0 : 1;
}

/** Whole names choose one benchmark each, parts of names all that have them; no name chooses all. */
function isChosen(name: string): boolean {
  const isWhole = (given: string) => benchmarks.some((one) => one.name === given);
  return (
    positionals.length === 0 || positionals.some((given) => (isWhole(given) ? name === given : name.includes(given)))
  );
}

/** Progress, on one line that is written over. */
function note(benchmark: Benchmark | undefined, line: string): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r${(benchmark === undefined ? "" : `${benchmark.name}: ${line}`).padEnd(78)}\r`);
}

function textOf({ title, columns: head, rows, goals }: Report): string {
  const table = columns([head, ...rows].map((row) => row.map(String)));
  const lines = goals.map((goal) => {
    const [value, atMost] = [goal.value, goal.atMost].map((number) => Number(number.toPrecision(3)));
    const before = goal.last === undefined ? "" : `; was ${goal.last}`;
    return `${isMet(goal) ? "met   " : "MISSED"}  ${goal.what}: ${value}, at most ${atMost}${before}`;
  });
  return [title, table, ...lines, ""].join("\n");
}

function machine() {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8", timeout: 120_000 }).trim();
  const [cpu] = cpus();
  return { at: new Date().toISOString(), commit, node: process.version, cpus: cpus().length, cpu: cpu?.model };
}
