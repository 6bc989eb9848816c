import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { simulate } from "./simulate.ts";
import type { Theme } from "./weather.ts";

/** Seeds that a thread runs between two reports. Small, so that a few hundred seeds keep both threads busy. */
const chunk = 25;

const threads = 2;

interface Share {
  theme: Theme | undefined;
  first: number;
  seeds: number;
  part: number;
}

interface Report {
  seeds: number;
  tasks: number;
  attempts: number;
  failed: number | undefined;
}

/** Every other chunk of the seeds, until one fails. */
async function runShare({ theme, first, seeds, part }: Share, report: (done: Report) => void): Promise<void> {
  for (let start = part * chunk; start < seeds; start += threads * chunk) {
    const done: Report = { seeds: 0, tasks: 0, attempts: 0, failed: undefined };
    for (let offset = start; offset < Math.min(start + chunk, seeds) && done.failed === undefined; offset++) {
      const { tasks, attempts, violations, seed } = await simulate(first + offset, { theme });
      done.seeds += 1;
      done.tasks += tasks;
      done.attempts += attempts;
      if (violations.length > 0) done.failed = seed;
    }
    report(done);
    if (done.failed !== undefined) return;
  }
}

/** Tells the whole story of a failing seed, and how to see it again. */
async function tell(seed: number, theme: Theme | undefined): Promise<void> {
  const { story, violations } = await simulate(seed, { tell: true, theme });
  console.log(story.join("\n"));
  for (const { text } of violations) console.log(`\nseed ${seed}: ${text}`);
  if (violations.length > 0) process.exitCode = 1;
  console.log(
    `\nTo see it again: npm run test:simulate -- --seed ${seed}${theme === undefined ? "" : ` --theme ${theme}`}`,
  );
}

async function runAll(first: number, seeds: number, theme: Theme | undefined): Promise<void> {
  const startedAt = performance.now();
  const sum = { seeds: 0, tasks: 0, attempts: 0 };
  const failed: number[] = [];
  const line = () => {
    const seconds = (performance.now() - startedAt) / 1000;
    const rate = Math.round(sum.seeds / seconds);
    return `${sum.seeds} of ${seeds} seeds, ${sum.tasks} tasks, ${sum.attempts} attempts, ${rate} seeds/s`;
  };
  const share = (part: number) =>
    new Promise<void>((done, fail) => {
      const worker = new Worker(new URL(import.meta.url), {
        workerData: { theme, first, seeds, part } satisfies Share,
      });
      worker.on("message", (report: Report) => {
        sum.seeds += report.seeds;
        sum.tasks += report.tasks;
        sum.attempts += report.attempts;
        if (report.failed !== undefined) failed.push(report.failed);
        if (sum.seeds % 10_000 < chunk) console.log(line());
      });
      worker.on("error", fail);
      worker.on("exit", () => done());
    });
  await Promise.all(Array.from({ length: threads }, (_, part) => share(part)));
  console.log(line());
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
    },
  });
  const theme = values.theme as Theme | undefined;
  if (values.seed === undefined) await runAll(Number(values.from), Number(values.seeds), theme);
  else await tell(Number(values.seed), theme);
} else {
  await runShare(workerData as Share, (report) => parentPort?.postMessage(report));
}
