import type { AppSchedule } from "../../core/schedules/app-schedule.ts";
import type { AppTrigger } from "../../core/schedules/trigger.ts";
import type { TaskEnvironment } from "../../core/task/environment.ts";
import type { TaskType } from "../../core/task/task.ts";

/**
 * A file of the tasks folder that is not what it should be. Its message says which file, what was expected and what to
 * do.
 */
export class TaskFileError extends Error {
  override readonly name = "TaskFileError";
}

/** Extensions of code files. */
export const codeExtensions = /\.([cm]?[jt]s|tsx|jsx)$/;

/** The name of a file's task type. */
export const typeNameOf = (file: string): string => file.replace(codeExtensions, "");

/**
 * Checks that a module is a task type.
 * @param folder Path of the files, for messages.
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
  const shown = `${folder}/${file}`;
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
      `${shown} and ${folder}/${other} both define the task type "${type.name}". ` +
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
export function schedulesIn(shown: string, module: { schedules?: unknown }): readonly AppSchedule[] {
  if (Array.isArray(module.schedules)) return module.schedules;
  throw new TaskFileError(
    `${shown} has no schedules. Expected \`export const schedules = [defineSchedule({ ... })]\`.`,
  );
}

/**
 * Checks that a module has the app's triggers.
 * @throws TaskFileError
 */
export function triggersIn(shown: string, module: { default?: unknown }): readonly AppTrigger[] {
  const { default: found } = module;
  const isTrigger = (one: unknown): one is AppTrigger =>
    typeof one === "object" && one !== null && "pattern" in one && "tenant_id" in one;
  if (Array.isArray(found) && found.every(isTrigger)) return found;
  throw new TaskFileError(`${shown} has no triggers. Expected \`export default [defineTrigger({ ... })]\`.`);
}

/**
 * Checks that a module declares the environment variables of handlers.
 * @throws TaskFileError
 */
export function environmentIn(shown: string, module: { default?: unknown }): TaskEnvironment {
  const { default: found } = module;
  if (typeof found === "object" && found !== null && "variables" in found && "secrets" in found) {
    return found as TaskEnvironment;
  }
  throw new TaskFileError(
    `${shown} does not declare environment variables. ` +
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
