import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type Feature, Pairs } from "./features.ts";
import { simulate } from "./simulate.ts";
import { type GivenTheme, givenThemes } from "./weather.ts";

/** Seeds that a thread runs between two reports. Small, so that a few hundred seeds keep both threads busy. */
const chunk = 25;

/** Seeds to run, and how. */
interface Work {
  theme: GivenTheme | undefined;
  first: number;
  seeds: number;
  threads: number;
  /** True: a seed that fails does not end the run. */
  goesOn: boolean;
  /** True: the worlds that combine two features are counted, for each pair. */
  pairs: boolean;
}

/** The part of the work that one thread does. */
interface Share extends Work {
  part: number;
}

interface Report {
  seeds: number;
  /** Features of each world. */
  features: Feature[][];
  tasks: number;
  attempts: number;
  failed: { seed: number; text: string }[];
}

/** A part of the chunks of the seeds, until one fails. */
async function runShare(share: Share, report: (done: Report) => void): Promise<void> {
  const { theme, first, seeds, part, threads, goesOn } = share;
  for (let start = part * chunk; start < seeds; start += threads * chunk) {
    const done: Report = { seeds: 0, features: [], tasks: 0, attempts: 0, failed: [] };
    for (let offset = start; offset < Math.min(start + chunk, seeds); offset++) {
      const { tasks, attempts, features, violations, seed } = await simulate(first + offset, { theme });
      done.seeds += 1;
      done.features.push(features);
      done.tasks += tasks;
      done.attempts += attempts;
      for (const { text } of violations.slice(0, 1)) done.failed.push({ seed, text });
      if (done.failed.length > 0 && !goesOn) break;
    }
    report(done);
    if (done.failed.length > 0 && !goesOn) return;
  }
}

/** Tells the whole story of a failing seed, and how to see it again. */
async function tell(seed: number, theme: GivenTheme | undefined): Promise<void> {
  const { story, violations } = await simulate(seed, { tell: true, theme });
  console.log(story.join("\n"));
  for (const { text } of violations) console.log(`\nseed ${seed}: ${text}`);
  if (violations.length > 0) process.exitCode = 1;
  console.log(
    `\nTo see it again: npm run test:simulate -- --seed ${seed}${theme === undefined ? "" : ` --theme ${theme}`}`,
  );
}

async function runAll(work: Work): Promise<void> {
  const { seeds, theme, threads } = work;
  const startedAt = performance.now();
  const sum = { seeds: 0, tasks: 0, attempts: 0 };
  const failed: number[] = [];
  const pairs = new Pairs();
  const line = () => {
    const seconds = (performance.now() - startedAt) / 1000;
    const rate = Math.round(sum.seeds / seconds);
    return `${sum.seeds} of ${seeds} seeds, ${sum.tasks} tasks, ${sum.attempts} attempts, ${rate} seeds/s`;
  };
  const share = (part: number) =>
    new Promise<void>((done, fail) => {
      // A large space for young objects: with Node's own, a world takes a fifteenth longer.
      const resourceLimits = { maxYoungGenerationSizeMb: 192 };
      const workerData = { ...work, part } satisfies Share;
      const worker = new Worker(new URL(import.meta.url), { workerData, resourceLimits });
      worker.on("message", (report: Report) => {
        sum.seeds += report.seeds;
        sum.tasks += report.tasks;
        sum.attempts += report.attempts;
        for (const features of report.features) pairs.add(features);
        for (const { seed, text } of report.failed) {
          failed.push(seed);
          console.log(`seed ${seed}: ${text}`);
        }
        if (sum.seeds % 10_000 < chunk) console.log(line());
      });
      worker.on("error", fail);
      worker.on("exit", () => done());
    });
  await Promise.all(Array.from({ length: threads }, (_, part) => share(part)));
  console.log(line());
  if (work.pairs) console.log(`${pairs.table()}\nwithout a world: ${pairs.empty.join(", ") || "no pair"}`);
  if (failed.length === 0) return;
  await tell(Math.min(...failed), theme);
}

if (isMainThread) {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "10000" },
      from: { type: "string", default: "1" },
      seed: { type: "string" },
      theme: { type: "string" },
      threads: { type: "string", default: "2" },
      pairs: { type: "boolean", default: false },
      "go-on": { type: "boolean", default: false },
    },
  });
  const theme = givenThemes.find((one) => one === values.theme);
  if (values.theme !== undefined && theme === undefined) throw new Error(`--theme is one of ${givenThemes.join(", ")}`);
  if (values.seed !== undefined) await tell(Number(values.seed), theme);
  else {
    const [first, seeds, threads] = [Number(values.from), Number(values.seeds), Number(values.threads)];
    await runAll({ theme, first, seeds, threads, goesOn: values["go-on"], pairs: values.pairs });
  }
} else {
  await runShare(workerData as Share, (report) => parentPort?.postMessage(report));
}
