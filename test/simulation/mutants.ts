import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { loadCore } from "./core.ts";
import type { Mutation } from "./mutation.ts";
import { mutations } from "./mutations.ts";
import { simulate } from "./simulate.ts";

/** Seeds within which a broken core must be found. */
const mostSeeds = 4000;

const repository = resolve(import.meta.dirname, "../..");

/** What became of one mutant. */
interface Found {
  name: string;
  /** Seeds it took; undefined when none found it. */
  seeds: number | undefined;
  text: string;
}

/** Copies the core with one snippet replaced. Throws when the snippet is not there once: the mutation is out of date. */
function copyBroken(folder: string, { file, find, replace, also }: Mutation): void {
  cpSync(join(repository, "src/core"), join(folder, "core"), { recursive: true });
  symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const path = join(folder, "core", file);
  let source = readFileSync(path, "utf8");
  for (const one of [{ find, replace }, ...(also === undefined ? [] : [also])]) {
    const pieces = source.split(one.find);
    if (pieces.length !== 2) throw new Error(`${file} does not hold this snippet once:\n${one.find}`);
    source = pieces.join(one.replace);
  }
  writeFileSync(path, source);
}

async function hunt(mutation: Mutation): Promise<Found> {
  const folder = mkdtempSync(join(tmpdir(), "offload-mutant-"));
  try {
    copyBroken(folder, mutation);
    const core = await loadCore(join(folder, "core"));
    for (let seed = 1; seed <= mostSeeds; seed++) {
      const { violations } = await simulate(seed, { core, theme: mutation.theme });
      const [first] = violations;
      // Its text names what the file no longer has.
      if (first?.text.includes("ReferenceError")) throw new Error(first.text);
      if (first !== undefined) return { name: mutation.name, seeds: seed, text: first.text };
    }
    return { name: mutation.name, seeds: undefined, text: "not found" };
  } catch (error) {
    return { name: mutation.name, seeds: undefined, text: String(error) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Two threads share the mutations; each failing to be found fails the whole. */
async function main(): Promise<void> {
  const wanted = process.argv[2];
  const chosen = mutations.filter(({ name }) => wanted === undefined || name.includes(wanted));
  const founds: Found[] = [];
  const thread = (part: number) =>
    new Promise<void>((done, fail) => {
      const names = chosen.filter((_, index) => index % 2 === part).map(({ name }) => name);
      const worker = new Worker(new URL(import.meta.url), { workerData: names });
      worker.on("message", (found: Found) => {
        founds.push(found);
        const seeds = found.seeds === undefined ? "  ✗ " : String(found.seeds).padStart(4);
        console.log(`${seeds}  ${found.name}: ${found.text}`);
      });
      worker.on("error", fail);
      worker.on("exit", () => done());
    });
  await Promise.all([thread(0), thread(1)]);
  const missed = founds.filter(({ seeds }) => seeds === undefined);
  console.log(`${founds.length - missed.length} of ${chosen.length} mutants found within ${mostSeeds} seeds`);
  if (missed.length > 0 || founds.length < chosen.length) process.exitCode = 1;
}

if (isMainThread) await main();
else {
  for (const name of workerData as string[]) {
    const mutation = mutations.find((one) => one.name === name);
    if (mutation !== undefined) parentPort?.postMessage(await hunt(mutation));
  }
}
