import type { AppSchedule } from "../../core/schedules/app-schedule.ts";
import type { AppTrigger } from "../../core/schedules/trigger.ts";
import { emptyEnvironment, type TaskEnvironment } from "../../core/task/environment.ts";
import type { TaskType } from "../../core/task/task.ts";
import { codeExtensions, environmentIn, schedulesIn, triggersIn, typeIn, typeNameOf } from "./task-modules.ts";

/** The built code of a project (`src/code/build`), as its first file exports it. */
export interface TaskCode {
  /** Path of the task files, for messages. */
  readonly folder: string;
  /** Loads a file, by its name. */
  readonly files: Readonly<Record<string, () => unknown>>;
}

/** A file that could not be loaded, or is not what it should be. */
export interface FailedFile {
  readonly file: string;
  readonly error: unknown;
}

/** Task types of a project, and the files that have none. */
export interface LoadedTypes {
  readonly types: readonly TaskType[];
  readonly failed: readonly FailedFile[];
}

/** The task types, the schedules and the triggers of a project, and the environment variables of its handlers. */
export interface App {
  readonly types: readonly TaskType[];
  readonly schedules: readonly AppSchedule[];
  readonly triggers: readonly AppTrigger[];
  readonly environment: TaskEnvironment;
}

const others = ["schedules", "triggers", "environment", "process"] as const;
type OtherName = (typeof others)[number];

const isOther = (file: string): boolean => others.some((name) => name === typeNameOf(file));

/** Names of the files with a task type. */
export const typeFilesOf = ({ files }: TaskCode): string[] => Object.keys(files).filter((file) => !isOther(file));

/** Loads the task types one after the other. A file that fails costs its own type only. */
export async function loadTypes(code: TaskCode): Promise<LoadedTypes> {
  const types: TaskType[] = [];
  const failed: FailedFile[] = [];
  const files = typeFilesOf(code);
  for (const file of files) {
    try {
      types.push(typeIn(code.folder, file, files, await moduleOf(code, file)));
    } catch (error) {
      failed.push({ file, error });
    }
  }
  return { types, failed };
}

/**
 * The declared environment of handlers, which code may need when it is loaded. @throws TaskFileError, or what the file
 * throws
 */
export const loadEnvironment = (code: TaskCode): Promise<TaskEnvironment> =>
  loadOther(code, "environment", environmentIn, emptyEnvironment);

/** Loads the app's schedules. The task types come first, as this file imports them. */
export const loadSchedules = (code: TaskCode): Promise<readonly AppSchedule[]> =>
  loadOther(code, "schedules", schedulesIn, []);

/** Loads the app's triggers. */
export const loadTriggers = (code: TaskCode): Promise<readonly AppTrigger[]> =>
  loadOther(code, "triggers", triggersIn, []);

/** The file with an app's schedules, triggers, environment or process. Undefined: there is none. */
export const otherFileOf = ({ files }: TaskCode, name: OtherName): string | undefined =>
  Object.keys(files).find((file) => typeNameOf(file) === name && codeExtensions.test(file));

/** Loads a file beside the task types, if there is one. @throws TaskFileError, or what the file throws */
export async function loadOther<Found>(
  code: TaskCode,
  name: OtherName,
  check: (shown: string, module: object) => Found,
  none: Found,
): Promise<Found> {
  const file = otherFileOf(code, name);
  return file === undefined ? none : check(`${code.folder}/${file}`, await moduleOf(code, file));
}

/** The exports of a file. `module.exports` of a CommonJS file is its default export. */
export async function moduleOf({ files }: TaskCode, file: string): Promise<{ default?: unknown }> {
  const value: unknown = await files[file]?.();
  if (typeof value !== "object" || value === null) return { default: value };
  const exported: { default?: unknown } = value;
  const inner = exported.default;
  if (typeof inner === "object" && inner !== null && "__esModule" in inner) return inner as object;
  const isModule = "__esModule" in value || Object.prototype.toString.call(value) === "[object Module]";
  return isModule ? exported : { default: value, ...value };
}
