import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { buildSync } from "esbuild";
import { emptyEnvironment } from "../src/core/task/environment.ts";
import { acceptedTypes } from "../src/core/task/task.ts";
import { entries } from "../src/installation.ts";
import type { App } from "../src/task-files.ts";
import {
  environmentFile,
  environmentIn,
  schedulesFile,
  schedulesIn,
  TaskFileError,
  taskFiles,
  triggersFile,
  triggersIn,
  typeIn,
} from "../src/task-modules.ts";
import { inOneLine } from "./setting-error.ts";

/**
 * Loads a project's task types, schedules, triggers and environment without waiting, as the constructor of a construct must. The files are bundled into one
 * CommonJS file first, so that it does not matter how the CDK app itself is loaded: by Node, ts-node or tsx. Packages are not bundled.
 * @throws TaskFileError; the error of esbuild for code that does not compile, or of the file that throws
 */
export function loadTasks(tasks: string, probes: boolean): App {
  try {
    return load(tasks, probes);
  } catch (error) {
    throw error instanceof TaskFileError ? inOneLine(error) : error;
  }
}

function load(tasks: string, probes: boolean): App {
  const folder = resolve(tasks);
  const files = taskFiles(folder);
  const [schedules, triggers, environment] = [schedulesFile(folder), triggersFile(folder), environmentFile(folder)];
  const others = [schedules, triggers, environment].filter((file) => file !== undefined);
  const modules = required(folder, [...files, ...others]);
  const types = files.map((file) => typeIn(folder, file, files, modules[file] ?? {}));
  return {
    types: acceptedTypes(types, probes),
    schedules: schedules === undefined ? [] : schedulesIn(folder, schedules, modules[schedules] ?? {}),
    triggers: triggers === undefined ? [] : triggersIn(folder, triggers, modules[triggers] ?? {}),
    environment:
      environment === undefined ? emptyEnvironment : environmentIn(folder, environment, modules[environment] ?? {}),
  };
}

/** Loads files as modules, by their names. Beside `tasks`, where packages are found as from there. */
function required(folder: string, files: readonly string[]): Record<string, object> {
  const cache = join(folder, "..", "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  // Each load has a folder of its own: threads of one process may load at the same time.
  const out = mkdtempSync(join(cache, "offload-"));
  try {
    const outfile = join(out, "tasks.cjs");
    buildSync({
      stdin: { contents: entryOf(folder, files), resolveDir: folder },
      outfile,
      bundle: true,
      platform: "node",
      format: "cjs",
      target: "node20",
      packages: "external",
      define: { "import.meta.url": JSON.stringify(pathToFileURL(join(folder, "index.js")).href) },
      alias: entries,
      logLevel: "silent",
    });
    return createRequire(outfile)(outfile) as Record<string, object>;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

const entryOf = (folder: string, files: readonly string[]): string =>
  files.map((file) => `export * as ${JSON.stringify(file)} from ${JSON.stringify(join(folder, file))};`).join("\n");
