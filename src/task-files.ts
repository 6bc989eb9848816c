import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { emptyEnvironment, type TaskEnvironment } from "./core/environment.ts";
import type { AppSchedule } from "./core/schedules/app-schedule.ts";
import { acceptedTypes, type TaskType } from "./core/task.ts";

const tasksFolder = fileURLToPath(new URL("../tasks/", import.meta.url));

/** The file in `tasks/` that holds the app's schedules, not a task type. */
const schedulesFile = "schedules.ts";

/** The file in `tasks/` that declares the environment variables of handlers, not a task type. */
const environmentFile = "environment.ts";

const reservedFiles = [schedulesFile, environmentFile];

/** A file in `tasks/` that is not a task type. Its message says which file, what was expected and what to do. */
export class TaskFileError extends Error {
  override readonly name = "TaskFileError";
}

/** Names of the files that hold a task type each, sorted: the `.ts` files of `tasks/` itself, without the reserved names. */
export const taskFiles = (folder = tasksFolder): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts") && !reservedFiles.includes(file))
    .sort();

/**
 * Imports the task types of `tasks/`, in the order of their files.
 * @throws TaskFileError for the first file that is not a task type, with the cause where its import failed
 */
export async function taskTypes(folder = tasksFolder): Promise<readonly TaskType[]> {
  const files = taskFiles(folder);
  const types: TaskType[] = [];
  for (const file of files) types.push(checked(file, files, await imported(folder, file)));
  return types;
}

/**
 * Imports the environment variables that handlers need. Without `tasks/environment.ts` there are none.
 * @throws TaskFileError
 */
export async function taskEnvironment(folder = tasksFolder): Promise<TaskEnvironment> {
  if (!existsSync(join(folder, environmentFile))) return emptyEnvironment;
  const { default: found } = await imported(folder, environmentFile);
  if (isTaskEnvironment(found)) return found;
  throw new TaskFileError(
    `tasks/${environmentFile} does not declare environment variables. ` +
      "Expected `export default defineEnvironment({ variables: { ... }, secrets: { ... } })`.",
  );
}

const isTaskEnvironment = (value: unknown): value is TaskEnvironment =>
  typeof value === "object" && value !== null && "variables" in value && "secrets" in value;

/** The app's own part. */
export interface LoadedApp {
  /** Task types that it accepts. */
  types: readonly TaskType[];
  schedules: readonly AppSchedule[];
  /** Environment variables of its handlers. */
  environment: TaskEnvironment;
}

/**
 * Loads the app's own part. The types come before the schedules, which import them without naming the file in errors.
 * @throws TaskFileError
 */
export async function loadApp(probes: boolean): Promise<LoadedApp> {
  const environment = await taskEnvironment();
  const types = acceptedTypes(await taskTypes(), probes);
  const { schedules } = await import("../tasks/schedules.ts");
  return { types, schedules, environment };
}

async function imported(folder: string, file: string): Promise<{ default?: unknown }> {
  try {
    return await import(pathToFileURL(join(folder, file)).href);
  } catch (cause) {
    const reason = String(cause).replaceAll(/\s+/g, " ").trim();
    const whatToDo = `Correct the error; \`npx node tasks/${file}\` shows its place.`;
    throw new TaskFileError(`tasks/${file} could not be imported: ${reason}. ${whatToDo}`, { cause });
  }
}

function checked(file: string, files: readonly string[], module: { default?: unknown }): TaskType {
  const name = file.slice(0, -".ts".length);
  const whatToDo =
    `Expected \`export default defineTask({ name: "${name}", ... })\`. ` +
    "If the file is not a task type, move it into a sub-folder of tasks/.";
  if (!("default" in module)) throw new TaskFileError(`tasks/${file} has no default export. ${whatToDo}`);
  const type = module.default;
  if (!isTaskType(type)) {
    throw new TaskFileError(`The default export of tasks/${file} is not a task type. ${whatToDo}`);
  }
  if (type.name === name) return type;
  if (files.includes(`${type.name}.ts`)) {
    throw new TaskFileError(
      `tasks/${file} and tasks/${type.name}.ts both define the task type "${type.name}". ` +
        `Expected one file for each type: change the name in tasks/${file} to "${name}", or delete that file.`,
    );
  }
  throw new TaskFileError(
    `tasks/${file} defines the task type "${type.name}". Expected the name of the file, "${name}": ` +
      `change the name in the file, or rename the file to ${type.name}.ts.`,
  );
}

/** The fields of a task type, all of which `defineTask` sets. */
const fields = [
  ...["name", "description", "input", "version", "upcast", "output", "priority", "timeoutSeconds", "maxAttempts"],
  ...["retry", "classify", "cancellable", "sensitive", "handler"],
];

const isTaskType = (value: unknown): value is TaskType =>
  typeof value === "object" && value !== null && fields.every((field) => field in value);
