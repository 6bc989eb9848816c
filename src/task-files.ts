import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { AppSchedule } from "./core/schedules/app-schedule.ts";
import type { AppTrigger } from "./core/schedules/trigger.ts";
import { emptyEnvironment, type TaskEnvironment } from "./core/task/environment.ts";
import { acceptedTypes, type TaskType } from "./core/task/task.ts";
import { codeFolder } from "./installation.ts";
import { shareEntries } from "./share-entries.ts";
import {
  environmentFile,
  environmentIn,
  schedulesFile,
  schedulesIn,
  shownPath,
  TaskFileError,
  taskFiles,
  triggersFile,
  triggersIn,
  typeIn,
} from "./task-modules.ts";

/** The task types, the schedules and the triggers of a project, and the environment variables of its handlers. */
export interface App {
  types: readonly TaskType[];
  schedules: readonly AppSchedule[];
  triggers: readonly AppTrigger[];
  environment: TaskEnvironment;
}

/** The project's folder of task types: `OFFLOAD_TASKS`, or `tasks` in the working directory. */
export const tasksFolder = (): string => resolve(process.env.OFFLOAD_TASKS || "tasks");

let shared = false;

/**
 * Imports the task types of a folder, in the order of their files.
 * @throws TaskFileError for the first file that is not a task type, with the cause where its import failed
 */
export async function taskTypes(folder = tasksFolder()): Promise<readonly TaskType[]> {
  if (!shared) shareEntries();
  shared = true;
  const files = taskFiles(folder);
  const types: TaskType[] = [];
  for (const file of files) types.push(typeIn(folder, file, files, await imported(folder, file)));
  return types;
}

/**
 * Loads a project: the task types that it accepts, its schedules, its triggers and its environment. The types come first, as the others
 * import them, and only the types' errors name their file.
 * @throws TaskFileError
 */
export async function loadApp(probes: boolean, folder = tasksFolder()): Promise<App> {
  const types = acceptedTypes(await taskTypes(folder), probes);
  const [schedules, triggers, environment] = [schedulesFile(folder), triggersFile(folder), environmentFile(folder)];
  return {
    types,
    schedules: schedules === undefined ? [] : schedulesIn(folder, schedules, await imported(folder, schedules)),
    triggers: triggers === undefined ? [] : triggersIn(folder, triggers, await imported(folder, triggers)),
    environment:
      environment === undefined
        ? emptyEnvironment
        : environmentIn(folder, environment, await imported(folder, environment)),
  };
}

async function imported(folder: string, file: string): Promise<object> {
  try {
    return await import(pathToFileURL(join(folder, file)).href);
  } catch (cause) {
    const said = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    const reason = said.replaceAll(/\s+/g, " ").trim();
    const place = placeOf(cause);
    const at = place === undefined ? "" : ` at ${pathFrom(place.path, folder)}:${place.line}:${place.column}`;
    const text = place === undefined ? undefined : lineAt(place);
    const code = text === undefined ? "" : `\n\n    ${text.trim()}\n`;
    throw new TaskFileError(
      `${shownPath(folder, file)} could not be imported${at}: ${reason}.${hintFor(cause)}${code}`,
      { cause },
    );
  }
}

/** A place in a file. Line and column count from 1. */
interface Place {
  path: string;
  line: number;
  column: number;
}

/** The place of an error in the project's own code. */
function placeOf(error: unknown): Place | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [first = "", ...rest] = stack.split("\n");
  const head = /^(?:file:\/\/)?(\/.+):(\d+)$/.exec(first);
  if (head?.[1] !== undefined) return { path: head[1], line: Number(head[2]), column: caretColumn(rest) };
  return importOf(error) ?? firstFrame(stack);
}

/** Node shows a syntax error as `path:line`, some lines of code, and carets below the wrong part. */
const caretColumn = (lines: readonly string[]): number =>
  (lines.find((one) => /^\s*\^+\s*$/.test(one))?.indexOf("^") ?? 0) + 1;

/** Advice about an error with a usual cure. Empty: there is none. */
function hintFor(error: unknown): string {
  const { message = "" } = error as { message?: string };
  if (/TypeScript enum is not supported/.test(message)) return " Use a union of literals, or an object `as const`.";
  const { wanted, file } = notFound(error) ?? { wanted: "", file: "" };
  const meant = `${pathOf(wanted).replace(/\.js$/, "")}.ts`;
  if (file === "" || !existsSync(meant)) return "";
  const path = relative(dirname(file), meant);
  return ` Did you mean '${path.startsWith(".") ? path : `./${path}`}'?`;
}

/** The file or package that an import does not find, and the importing file. */
function notFound(error: unknown): { wanted: string; file: string } | undefined {
  const { code, message = "" } = error as { code?: string; message?: string };
  const [, wanted = "", path = ""] =
    /^Cannot find (?:module|package) '(.+?)' imported from (.+?)$/m.exec(message) ?? [];
  return code !== "ERR_MODULE_NOT_FOUND" || path === "" ? undefined : { wanted, file: pathOf(path) };
}

/** The import of a file or package that is not found. Node names only the importing file. */
function importOf(error: unknown): Place | undefined {
  const missing = notFound(error);
  if (missing === undefined) return undefined;
  const { wanted, file } = missing;
  const name = basename(wanted);
  const lines = textOf(file).split("\n");
  const index = lines.findIndex((line) => /\b(from|import)\b/.test(line) && line.includes(name));
  return index < 0 ? undefined : { path: file, line: index + 1, column: (lines[index] ?? "").lastIndexOf(name) + 1 };
}

/** The first frame of a stack in the project's own code. */
function firstFrame(stack: string): Place | undefined {
  const at = /(?:\(|at )(?:async )?(file:\/\/\/[^\s()]+?|\/[^\s()]+?):(\d+):(\d+)\)?$/;
  for (const line of stack.split("\n")) {
    const [, path = "", row, column] = at.exec(line) ?? [];
    const own = path !== "" && !path.includes("/node_modules/") && !path.includes(`${codeFolder}src/`);
    if (own) return { path: pathOf(path), line: Number(row), column: Number(column) };
  }
  return undefined;
}

const pathOf = (path: string): string => (path.startsWith("file:") ? fileURLToPath(path) : path);

const lineAt = ({ path, line }: Place): string | undefined => textOf(pathOf(path)).split("\n")[line - 1];

/** Empty for a file that cannot be read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function pathFrom(path: string, folder: string): string {
  const file = pathOf(path);
  return file.startsWith(`${folder}/`) ? shownPath(folder, file.slice(folder.length + 1)) : file;
}
