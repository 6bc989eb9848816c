import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { type Core, loadCore } from "./core.ts";
import type { Mutation } from "./mutation.ts";
import { mutations } from "./mutations.ts";
import { simulate } from "./simulate.ts";
import { broken } from "./snippet.ts";
import type { GivenTheme } from "./weather.ts";

/** The seed that found each mutant last; `--update` writes it. Not in this folder, whose tree chooses the worlds of CI. */
const seedsPath = join(import.meta.dirname, "../mutant-seeds.json");

const repository = resolve(import.meta.dirname, "../..");

/** A mutant that a thread looks for: `most` is the number of seeds where its own does not find it. */
interface Hunt {
  /** Undefined: there is none left. */
  name: string | undefined;
  /** Absent: its own. */
  theme: GivenTheme | undefined;
  most: number;
}

/** What became of one mutant. */
interface Found {
  name: string;
  found: boolean;
  /** The seed that found it. Undefined: none did, or a unit test. */
  seed: number | undefined;
  text: string;
}

/** Breaks a copied core. */
function breakCore(core: string, mutation: Mutation): void {
  const path = join(core, mutation.file);
  writeFileSync(path, broken(readFileSync(path, "utf8"), mutation));
}

function copyCore(folder: string): void {
  for (const room of ["core", "util"]) cpSync(join(repository, "src", room), join(folder, room), { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
}

/** Copies what unit tests of the core import. */
function copyProject(folder: string): void {
  const copied = [
    "src",
    "test/core",
    "test/simulation",
    "test/support",
    "package.json",
    "tsconfig.json",
    "vitest.config.ts",
  ];
  for (const path of copied) cpSync(join(repository, path), join(folder, path), { recursive: true });
  const linked = ["node_modules", "lambdas", "lib", "tasks", "templates"];
  for (const path of linked) symlinkSync(join(repository, path), join(folder, path));
}

/** A broken core can let a test run for ever. The slowest test file takes a tenth of it. */
const longestTestMs = 300_000;

/** The first unit test that fails with the broken core. Undefined: all pass, or none ran. */
async function failingTest(mutation: Mutation, file: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "offload-mutant-"));
  try {
    copyProject(folder);
    breakCore(join(folder, "src/core"), mutation);
    const printed = await printedByTest(folder, file);
    if (printed === undefined) return `${file}: it does not end`;
    const { testResults } = JSON.parse(printed.slice(printed.indexOf("{"))) as TestReport;
    const failed = testResults.flatMap(({ assertionResults }) => assertionResults).find(isFailed);
    return failed && `${file}: ${failed.fullName}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What Vitest prints about a file of tests. Undefined: it did not end, and was killed with its own processes. */
async function printedByTest(cwd: string, file: string): Promise<string | undefined> {
  const vitest = join(repository, "node_modules/vitest/vitest.mjs");
  const projects = ["--project", "unit", "--project", "worlds"];
  const child = spawn(process.execPath, [vitest, "run", ...projects, "--reporter", "json", file], {
    cwd,
    // A group of its own, so that the processes that Vitest has started end with it.
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }, longestTestMs);
  const printed = await text(child.stdout);
  clearTimeout(timer);
  return isLate ? undefined : printed;
}

/** The part of Vitest's JSON report that is read here. */
interface TestReport {
  testResults: { assertionResults: { fullName: string; status: string }[] }[];
}

const isFailed = ({ status }: { status: string }): boolean => status === "failed";

/** Tries the seed that found the mutant last, and then each of the first ones. */
async function hunt(mutation: Mutation, known: number | undefined, most: number): Promise<Found> {
  const { name, test } = mutation;
  if (test !== undefined) {
    const found = await failingTest(mutation, test);
    return { name, seed: undefined, text: found ?? "not found", found: found !== undefined };
  }
  const folder = mkdtempSync(join(tmpdir(), "offload-mutant-"));
  try {
    copyCore(folder);
    breakCore(join(folder, "core"), mutation);
    const core = await loadCore(join(folder, "core"));
    const text = known === undefined ? undefined : await foundAt(mutation, core, known);
    if (text !== undefined) return { name, seed: known, text, found: true };
    for (let seed = 1; seed <= most; seed++) {
      const text = await foundAt(mutation, core, seed);
      if (text !== undefined) return { name, seed, text, found: true };
    }
    return { name, seed: undefined, text: "not found", found: false };
  } catch (error) {
    return { name, seed: undefined, text: String(error), found: false };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The promise that the broken core breaks at a seed, if the real core keeps all of them there. */
async function foundAt({ theme }: Mutation, core: Core, seed: number): Promise<string | undefined> {
  const { violations } = await simulate(seed, { core, theme });
  const [first] = violations;
  // Its text names what the file no longer has.
  if (first?.text.includes("ReferenceError")) throw new Error(first.text);
  if (first === undefined) return undefined;
  const real = await simulate(seed, { theme });
  return real.violations.length === 0 ? first.text : undefined;
}

const foundSeeds = (): Record<string, number> => JSON.parse(readFileSync(seedsPath, "utf8"));

/** Threads take one mutation after the other; each that is not found fails the whole. */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      update: { type: "boolean", default: false },
      threads: { type: "string", default: "2" },
      theme: { type: "string" },
      seeds: { type: "string", default: "4000" },
    },
  });
  const theme = values.theme as GivenTheme | undefined;
  const [wanted] = positionals;
  const chosen = mutations.filter(({ name }) => wanted === undefined || name.includes(wanted));
  const names = chosen.map(({ name }) => name);
  const founds: Found[] = [];
  const thread = () =>
    new Promise<void>((done, fail) => {
      const worker = new Worker(new URL(import.meta.url));
      const next = () => worker.postMessage({ name: names.shift(), theme, most: Number(values.seeds) } satisfies Hunt);
      worker.on("message", (found: Found) => {
        founds.push(found);
        // After each, so that a run that is ended leaves what it has found.
        if (values.update && theme === undefined) writeSeeds(founds);
        console.log(`${String(found.seed ?? (found.found ? "unit" : "✗")).padStart(5)}  ${found.name}: ${found.text}`);
        next();
      });
      worker.on("error", fail);
      worker.on("exit", () => done());
      next();
    });
  await Promise.all(Array.from({ length: Number(values.threads) }, thread));
  const missed = founds.filter(({ found }) => !found);
  console.log(`${founds.length - missed.length} of ${chosen.length} mutants found`);
  if (missed.length > 0 || founds.length < chosen.length) process.exitCode = 1;
}

function writeSeeds(founds: readonly Found[]): void {
  const found = Object.fromEntries(founds.map(({ name, seed }) => [name, seed]));
  const known = foundSeeds();
  const seeds = Object.fromEntries(mutations.map(({ name }) => [name, found[name] ?? known[name]]));
  writeFileSync(seedsPath, `${JSON.stringify(seeds, null, 2)}\n`);
}

if (isMainThread) await main();
else {
  const seeds = foundSeeds();
  parentPort?.on("message", async ({ name, theme, most }: Hunt) => {
    const mutation = mutations.find((one) => one.name === name);
    if (mutation === undefined) parentPort?.close();
    else if (theme === undefined) parentPort?.postMessage(await hunt(mutation, seeds[mutation.name], most));
    else parentPort?.postMessage(await hunt({ ...mutation, theme }, undefined, most));
  });
}
