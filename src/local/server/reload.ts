import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { watch } from "chokidar";
import { type CodeToDescribe, describe } from "../../code/describe/describe.ts";
import type { DescribedCode } from "../../code/describe/describe-code.ts";
import { dirname, relative, resolve, slashed } from "../../machine/paths.ts";
import { loadProject, type Project } from "../deployment/project.ts";
import type { SpareWorker } from "../workers/spare-worker.ts";

/** Time without a further change after which the files count as saved, in milliseconds. */
const settleMs = 50;

export interface ReloadOptions {
  /** Folder of the task types. */
  folder: string;
  probes: boolean;
  /** The project in use. */
  project: Project;
  /** Epoch milliseconds at which the server began to load the files: a file that is newer has changed. */
  loadedAtMs: number;
  /** Loads and describes changed code. Undefined: a process that ends after it does. */
  spare?: SpareWorker | undefined;
  /** Starts to use what the changed files define. */
  use(project: Project): Promise<void>;
  /** Called with the reason why files could not be loaded. Empty: all could. */
  onProblem(problem: string): void;
  print(line: string): void;
}

/**
 * Watches the task files, `.env`, and the project's own files that they import. After a change it loads them, and hands
 * over what they define. A file that was good and cannot be loaded any more changes nothing: its error is printed.
 * @returns what stops the watching
 */
export async function reloadOnChange(options: ReloadOptions): Promise<() => Promise<void>> {
  const { folder, print } = options;
  // The first look at each file is an event as well: a file may have been saved after it was loaded and before the
  // watching began.
  const watcher = watch([folder, ".env", ...options.project.code.sources], {
    alwaysStat: true,
    ignored: (path) => /(^|\/)node_modules(\/|$)/.test(relative(folder, path)),
  });
  const changed = new Set<string>();
  let turn = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const reloading = new Reloading(options);
  const reload = async () => {
    const files = namesOf(changed);
    changed.clear();
    watcher.add([...(await reloading.reload(files))]);
  };
  watcher.on("all", (event, path, stats) => {
    if (event === "addDir" || (event === "add" && (stats?.ctimeMs ?? 0) < reloading.loadedAtMs)) return;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      turn = turn.then(reload).catch((error: unknown) => print(`Not reloaded: ${String(error)}`));
    }, settleMs);
  });
  await new Promise<void>((ready) => watcher.once("ready", () => ready()));
  return async () => {
    clearTimeout(timer);
    reloading.stop();
    await watcher.close();
  };
}

/** Loads changed files, and hands over what they define. */
class Reloading {
  loadedAtMs: number;
  readonly #options: ReloadOptions;
  #project: Project;
  #loading: ChildProcess | undefined;
  #lastProblem = "";

  constructor(options: ReloadOptions) {
    this.#options = options;
    this.#project = options.project;
    this.loadedAtMs = options.loadedAtMs;
    this.#tellProblems(options.project);
  }

  /** @returns the files that the code is now built from */
  async reload(files: string): Promise<readonly string[]> {
    const { folder, probes, print, use } = this.#options;
    this.loadedAtMs = Date.now();
    let project: Project;
    try {
      project = await loadProject(folder, probes, (code) => this.#describe(code));
    } catch (error) {
      this.#refuse((error as Error).message);
      return [];
    }
    const broken = project.problems.find(({ file }) => this.#project.files.includes(file));
    if (broken !== undefined) {
      project.code[Symbol.dispose]();
      this.#refuse(broken.message);
      return project.code.sources;
    }
    await use(project);
    this.#project = project;
    this.#tellProblems(project);
    const count = project.catalog.length;
    const types = `${count} task type${count === 1 ? "" : "s"}`;
    print(`Reloaded ${types} after a change of ${files}. Attempts that run end on the old code.`);
    return project.code.sources;
  }

  #describe(code: CodeToDescribe): Promise<DescribedCode> {
    const { spare } = this.#options;
    if (spare !== undefined) return spare.describe(code);
    return describe(code, (child) => {
      this.#loading = child;
    });
  }

  stop(): void {
    this.#loading?.kill("SIGKILL");
  }

  /** A file that was good before has become worse: its last good code stays, with that of the others. */
  #refuse(problem: string): void {
    const { print, onProblem } = this.#options;
    if (problem !== this.#lastProblem) print(`Not reloaded, the last good code stays: ${problem}`);
    this.#lastProblem = problem;
    onProblem(problem);
  }

  /** The file of a type that was never there stops nobody else. */
  #tellProblems({ problems }: Project): void {
    const all = problems.map(({ message }) => message).join("\n");
    if (all !== this.#lastProblem)
      for (const { message } of problems) this.#options.print(`Not loaded, the other types run: ${message}`);
    this.#lastProblem = all;
    this.#options.onProblem(all);
  }
}

/** Most changed files that a log line names. */
const namedFiles = 3;

/** Names changed files, as seen from the working directory. */
function namesOf(paths: Iterable<string>): string {
  const names = [...paths].map((path) => relative(process.cwd(), resolve(path))).sort();
  const more = names.length - namedFiles;
  return `${names.slice(0, namedFiles).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/**
 * Folders whose files no task file imports: packages, built files, and those of tools, such as `.git` and `.offload`.
 */
const ignoredFolders = /\/(node_modules|cdk\.out|dist|\.[^/]+)(\/|$)/;

/**
 * Waits until the task files can be loaded: it tries again after each change in the project. The whole project is
 * watched, as the imports of a broken file are not known.
 * @param problem The reason that is printed already.
 */
export async function loadableApp(
  folder: string,
  probes: boolean,
  problem: string,
  print: (line: string) => void,
): Promise<Project> {
  const project = dirname(folder);
  const ignored = (path: string) =>
    ignoredFolders.test(slashed(path).slice(project.length)) && !slashed(path).endsWith("/.env");
  const watcher = watch(project, { ignoreInitial: true, ignored });
  let changes = 0;
  watcher.on("all", () => {
    changes += 1;
  });
  await new Promise<void>((ready) => watcher.once("ready", () => ready()));
  try {
    for (let last = problem; ; ) {
      const seen = changes;
      const project = await loadProject(folder, probes).catch((error: unknown) => (error as Error).message);
      if (typeof project !== "string") return project;
      if (project !== last) print(`Not started: ${project}`);
      last = project;
      while (changes === seen) await sleep(settleMs);
    }
  } finally {
    await watcher.close();
  }
}
