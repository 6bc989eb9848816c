import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { emptyEnvironment, type TaskEnvironment } from "./core/environment.ts";
import type { AppSchedule } from "./core/schedules/app-schedule.ts";
import { acceptedTypes, type TaskType } from "./core/task.ts";
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
  typeIn,
} from "./task-modules.ts";

/** The task types and the schedules of a project, and the environment variables of its handlers. */
export interface App {
  types: readonly TaskType[];
  schedules: readonly AppSchedule[];
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
 * Loads a project: the task types that it accepts, its schedules and its environment. The types come first, as the schedules import
 * them, and only the types' errors name their file.
 * @throws TaskFileError
 */
export async function loadApp(probes: boolean, folder = tasksFolder()): Promise<App> {
  const types = acceptedTypes(await taskTypes(folder), probes);
  const [schedules, environment] = [schedulesFile(folder), environmentFile(folder)];
  return {
    types,
    schedules: schedules === undefined ? [] : schedulesIn(folder, schedules, await imported(folder, schedules)),
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
    const { path, line, column, text } = placeOf(cause, folder) ?? {};
    const place = path === undefined ? "" : ` at ${path}:${line}:${column}`;
    const code = text === undefined ? "" : `\n\n    ${text.trim()}\n`;
    throw new TaskFileError(`${shownPath(folder, file)} could not be imported${place}: ${reason}.${code}`, { cause });
  }
}

/** The place of an error in the project's own code, with that line's text where Node shows it. */
function placeOf(error: unknown, folder: string) {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const [first = "", text = "", ...rest] = stack.split("\n");
  const head = /^(?:file:\/\/)?(\/.+):(\d+)$/.exec(first);
  if (head !== null) return syntaxPlace(head, [text, ...rest], folder);
  const at = /\(?(file:\/\/\/[^\s()]+?|\/[^\s()]+?):(\d+):(\d+)\)?$/m;
  const own = (line: string) => !line.includes("/node_modules/") && !line.includes(`${codeFolder}src/`);
  const lines = stack.split("\n").filter((line) => at.test(line) && own(line));
  const [, path = "", line = "", column = ""] = at.exec(lines[0] ?? "") ?? [];
  return path === "" ? undefined : { path: pathFrom(path, folder), line, column, text: undefined };
}

/** Node shows a syntax error as `path:line`, some lines of code, and carets below the wrong part. */
function syntaxPlace([, path = "", line = ""]: RegExpExecArray, lines: readonly string[], folder: string) {
  const carets = lines.findIndex((one) => /^\s*\^+\s*$/.test(one));
  const column = String((lines[carets]?.indexOf("^") ?? 0) + 1);
  return { path: pathFrom(path, folder), line, column, text: lines[carets - 1] };
}

function pathFrom(path: string, folder: string): string {
  const file = path.startsWith("file:") ? fileURLToPath(path) : path;
  return file.startsWith(`${folder}/`) ? shownPath(folder, file.slice(folder.length + 1)) : file;
}
