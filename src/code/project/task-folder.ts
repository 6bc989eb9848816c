import { existsSync, readdirSync } from "node:fs";
import { basename, isAbsolute, join, relative, resolve } from "../../machine/paths.ts";
import { codeExtensions as code, TaskFileError, typeNameOf } from "./task-modules.ts";

/**
 * Files beside the task types: the app's schedules and triggers, the environment and the process of handlers, an index
 * that lists the types for clients, declarations and tests.
 */
const beside = /^(schedules|triggers|environment|process|index)\.[a-z]+$|\.d\.[cm]?ts$|\.(test|spec)\.[a-z]+$/;

/**
 * Names of the files that hold a task type each, sorted: the code files of the folder itself, without `schedules.ts`,
 * `triggers.ts`, `environment.ts`, `process.ts`, `index.ts` and tests.
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

/** The file that defines the life of a process that runs handlers; undefined when there is none. */
export const processFile = (folder: string): string | undefined => fileNamed(folder, "process");

const fileNamed = (folder: string, name: string): string | undefined =>
  readdirSync(folder).find((file) => code.test(file) && typeNameOf(file) === name);

/** A file's path for messages: as seen from the working directory, if it is in there. */
export function shownPath(folder: string, file: string): string {
  const path = relative(process.cwd(), folder);
  return join(path === "" || path.startsWith("..") || isAbsolute(path) ? basename(folder) : path, file);
}

/** The project's folder of task types: `OFFLOAD_TASKS`, or `tasks` in the working directory. */
export const tasksFolder = (): string => resolve(process.env.OFFLOAD_TASKS || "tasks");
