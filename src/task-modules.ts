import { existsSync, readdirSync } from "node:fs";
import { basename, isAbsolute, join, relative } from "node:path";
import type { AppSchedule } from "./core/schedules/app-schedule.ts";
import type { AppTrigger } from "./core/schedules/trigger.ts";
import type { TaskEnvironment } from "./core/task/environment.ts";
import type { TaskType } from "./core/task/task.ts";

/** A file of the tasks folder that is not what it should be. Its message says which file, what was expected and what to do. */
export class TaskFileError extends Error {
  override readonly name = "TaskFileError";
}

/** Extensions of code files, of which the first found counts. */
const code = /\.(ts|mts|js|mjs)$/;

/** Files beside the task types: the app's schedules and triggers, the environment of handlers, an index that lists the types for clients, declarations and tests. */
const beside = /^(schedules|triggers|environment|index)\.[a-z]+$|\.d\.m?ts$|\.(test|spec)\.[a-z]+$/;

/** The name of a file's task type. */
export const typeNameOf = (file: string): string => file.replace(code, "");

/**
 * Names of the files that hold a task type each, sorted: the code files of the folder itself, without `schedules.ts`, `triggers.ts`,
 * `environment.ts`, `index.ts` and tests.
 * @throws TaskFileError when there is no such folder, or when two files differ only in their extension
 */
export function taskFiles(folder: string): string[] {
  if (!existsSync(folder)) {
    throw new TaskFileError(
      `There is no folder ${folder}. Call this in your project's folder, or name the folder of your task types ` +
        "(OFFLOAD_TASKS); `npx offload init` makes one.",
    );
  }
  const files = readdirSync(folder)
    .filter((file) => code.test(file) && !beside.test(file))
    .sort();
  const twice = files.find((file, index) => index > 0 && typeNameOf(file) === typeNameOf(files[index - 1] ?? ""));
  if (twice === undefined) return files;
  const names = files.filter((file) => typeNameOf(file) === typeNameOf(twice)).map((file) => shownPath(folder, file));
  throw new TaskFileError(
    `${names.join(" and ")} have the same name, and so define the same task type. Expected one file: delete the others.`,
  );
}

/** The file of the app's schedules; undefined when there is none. */
export const schedulesFile = (folder: string): string | undefined => fileNamed(folder, "schedules");

/** The file of the app's triggers; undefined when there is none. */
export const triggersFile = (folder: string): string | undefined => fileNamed(folder, "triggers");

/** The file that declares the environment variables of handlers; undefined when there is none. */
export const environmentFile = (folder: string): string | undefined => fileNamed(folder, "environment");

const fileNamed = (folder: string, name: string): string | undefined =>
  readdirSync(folder).find((file) => code.test(file) && typeNameOf(file) === name);

/** A file's path for messages: as seen from the working directory, if it is in there. */
export function shownPath(folder: string, file: string): string {
  const path = relative(process.cwd(), folder);
  return join(path === "" || path.startsWith("..") || isAbsolute(path) ? basename(folder) : path, file);
}

/**
 * Checks that a module is a task type.
 * @param files Names of all files with a task type.
 * @throws TaskFileError
 */
export function typeIn(
  folder: string,
  file: string,
  files: readonly string[],
  module: { default?: unknown },
): TaskType {
  const name = typeNameOf(file);
  const shown = shownPath(folder, file);
  const whatToDo =
    `Expected \`export default defineTask({ name: "${name}", ... })\`. ` +
    "If the file is not a task type, move it into a sub-folder.";
  if (!("default" in module)) throw new TaskFileError(`${shown} has no default export. ${whatToDo}`);
  const type = module.default;
  if (!isTaskType(type)) throw new TaskFileError(`The default export of ${shown} is not a task type. ${whatToDo}`);
  if (type.name === name) return type;
  const other = files.find((one) => typeNameOf(one) === type.name);
  if (other !== undefined) {
    throw new TaskFileError(
      `${shown} and ${shownPath(folder, other)} both define the task type "${type.name}". ` +
        `Expected one file for each type: change the name in ${shown} to "${name}", or delete that file.`,
    );
  }
  throw new TaskFileError(
    `${shown} defines the task type "${type.name}". Expected the name of the file, "${name}": ` +
      `change the name in the file, or rename the file to ${type.name}${file.slice(name.length)}.`,
  );
}

/**
 * Checks that a module has the app's schedules.
 * @throws TaskFileError
 */
export function schedulesIn(folder: string, file: string, module: { schedules?: unknown }): readonly AppSchedule[] {
  if (Array.isArray(module.schedules)) return module.schedules;
  throw new TaskFileError(
    `${shownPath(folder, file)} has no schedules. Expected \`export const schedules = [defineSchedule({ ... })]\`.`,
  );
}

/**
 * Checks that a module has the app's triggers.
 * @throws TaskFileError
 */
export function triggersIn(folder: string, file: string, module: { default?: unknown }): readonly AppTrigger[] {
  const { default: found } = module;
  const isTrigger = (one: unknown): one is AppTrigger =>
    typeof one === "object" && one !== null && "pattern" in one && "tenant_id" in one;
  if (Array.isArray(found) && found.every(isTrigger)) return found;
  throw new TaskFileError(
    `${shownPath(folder, file)} has no triggers. Expected \`export default [defineTrigger({ ... })]\`.`,
  );
}

/**
 * Checks that a module declares the environment variables of handlers.
 * @throws TaskFileError
 */
export function environmentIn(folder: string, file: string, module: { default?: unknown }): TaskEnvironment {
  const { default: found } = module;
  if (typeof found === "object" && found !== null && "variables" in found && "secrets" in found) {
    return found as TaskEnvironment;
  }
  throw new TaskFileError(
    `${shownPath(folder, file)} does not declare environment variables. ` +
      "Expected `export default defineEnvironment({ variables: { ... }, secrets: { ... } })`.",
  );
}

/** The fields of a task type, all of which `defineTask` sets. */
const fields = [
  ...[
    "name",
    "description",
    "input",
    "version",
    "upcast",
    "output",
    "priority",
    "runsOn",
    "timeoutSeconds",
    "maxAttempts",
  ],
  ...["retry", "classify", "cancellable", "sensitive", "children", "aggregate", "handler"],
];

const isTaskType = (value: unknown): value is TaskType =>
  typeof value === "object" && value !== null && fields.every((field) => field in value);
