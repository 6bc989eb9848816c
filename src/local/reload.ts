import { type ChildProcess, fork } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watch } from "chokidar";
import { build } from "esbuild";
import { codeFile } from "../installation.ts";
import { taskFiles } from "../task-modules.ts";
import type { Described } from "./describe-process.ts";
import type { DescribedApp } from "./described-app.ts";

/** Time without a further change after which the files count as saved, in milliseconds. */
const settleMs = 100;

/** Longest time for loading the task files, in milliseconds. */
const describeLimitMs = 30_000;

export interface ReloadOptions {
  /** Folder of the task types. */
  folder: string;
  probes: boolean;
  /** Epoch milliseconds at which the server began to load the files: a file that is newer has changed. */
  loadedAtMs: number;
  /** Starts to use what the changed files define. */
  use(app: DescribedApp): Promise<void>;
  /** Called with the reason why the changed files could not be loaded. */
  onProblem(problem: string): void;
  print(line: string): void;
}

/**
 * Watches the task files, `.env`, and the project's own files that they import. After a change it loads them, and hands over what they
 * define. A file that cannot be loaded changes nothing: its error is printed.
 * @returns what stops the watching
 */
export async function reloadOnChange({
  folder,
  probes,
  loadedAtMs,
  use,
  onProblem,
  print,
}: ReloadOptions): Promise<() => Promise<void>> {
  // The first look at each file is an event as well: a file may have been saved after it was loaded and before the watching began.
  const watcher = watch([folder, ".env"], { alwaysStat: true, ignored: /node_modules/ });
  const changed = new Set<string>();
  const addImports = async () => watcher.add(await importedFiles(folder));
  let loading: ChildProcess | undefined;
  let turn = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let lastProblem = "";
  let loadMs = loadedAtMs;
  const reload = async () => {
    loadMs = Date.now();
    const files = namesOf(changed);
    changed.clear();
    const described = await describe(probes, (child) => {
      loading = child;
    });
    loading = undefined;
    await addImports();
    if ("problem" in described) {
      if (described.problem !== lastProblem) print(`Not reloaded, the last good code stays: ${described.problem}`);
      lastProblem = described.problem;
      onProblem(described.problem);
      return;
    }
    lastProblem = "";
    await use(described);
    const count = described.catalog.length;
    const types = `${count} task type${count === 1 ? "" : "s"}`;
    print(`Reloaded ${types} after a change of ${files}. Attempts that run end on the old code.`);
  };
  watcher.on("all", (event, path, stats) => {
    if (event === "addDir" || (event === "add" && (stats?.ctimeMs ?? 0) < loadMs)) return;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      turn = turn.then(reload).catch((error: unknown) => print(`Not reloaded: ${String(error)}`));
    }, settleMs);
  });
  await Promise.all([new Promise<void>((ready) => watcher.once("ready", () => ready())), addImports()]);
  return async () => {
    clearTimeout(timer);
    loading?.kill("SIGKILL");
    await watcher.close();
  };
}

/** Most changed files that a log line names. */
const namedFiles = 3;

/** Names changed files, as seen from the working directory. */
function namesOf(paths: Iterable<string>): string {
  const names = [...paths].map((path) => relative(process.cwd(), resolve(path))).sort();
  const more = names.length - namedFiles;
  return `${names.slice(0, namedFiles).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Folders whose files no task file imports: packages, built files, and those of tools, such as `.git` and `.offload`. */
const ignoredFolders = /\/(node_modules|cdk\.out|dist|\.[^/]+)(\/|$)/;

/**
 * Waits until the task files can be loaded: it tries again after each change in the project. The whole project is watched, as the
 * imports of a broken file are not known.
 * @param problem The reason that is printed already.
 */
export async function loadableApp(
  folder: string,
  probes: boolean,
  problem: string,
  print: (line: string) => void,
): Promise<DescribedApp> {
  const project = dirname(folder);
  const ignored = (path: string) => ignoredFolders.test(path.slice(project.length)) && !path.endsWith("/.env");
  const watcher = watch(project, { ignoreInitial: true, ignored });
  let changes = 0;
  watcher.on("all", () => {
    changes += 1;
  });
  await new Promise<void>((ready) => watcher.once("ready", () => ready()));
  try {
    for (let last = problem; ; ) {
      const seen = changes;
      const described = await describe(probes, () => {});
      if (!("problem" in described)) return described;
      if (described.problem !== last) print(`Not started: ${described.problem}`);
      last = described.problem;
      while (changes === seen) await sleep(settleMs);
    }
  } finally {
    await watcher.close();
  }
}

/** Loads the task files in a new process. */
function describe(probes: boolean, started: (child: ChildProcess) => void): Promise<Described> {
  const child = fork(codeFile("src/local/describe-process"), {
    env: { ...process.env, OFFLOAD_PROBES: probes ? "1" : "0" },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    execArgv: [],
    timeout: describeLimitMs,
    killSignal: "SIGKILL",
  });
  started(child);
  return new Promise((done) => {
    child.once("message", (described: Described) => done(described));
    child.once("exit", () => done({ problem: "loading the task files ended the process, or took longer than 30 s." }));
  });
}

/** The project's own files that the task types import, packages excluded. None while a file has an error. */
async function importedFiles(folder: string): Promise<string[]> {
  try {
    const { metafile } = await build({
      entryPoints: taskFiles(folder).map((file) => join(folder, file)),
      absWorkingDir: realpathSync(dirname(folder)),
      outdir: "unused",
      bundle: true,
      write: false,
      metafile: true,
      platform: "node",
      format: "esm",
      packages: "external",
      logLevel: "silent",
    });
    return Object.keys(metafile.inputs).map((path) => resolve(dirname(folder), path));
  } catch {
    return [];
  }
}
