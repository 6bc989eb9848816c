import type { PlaceOf } from "../../core/model/stack.ts";
import { emptyEnvironment, type TaskEnvironment } from "../../core/task/environment.ts";
import { acceptedTypes } from "../../core/task/task.ts";
import { loadProcess } from "../project/process-file.ts";
import {
  type FailedFile,
  loadEnvironment,
  loadSchedules,
  loadTriggers,
  loadTypes,
  otherFileOf,
  type TaskCode,
} from "../project/task-code.ts";
import { type DescribedApp, described } from "./described.ts";
import { type LoadProblem, problemOf } from "./load-problem.ts";
import { setVariable } from "./set-variable.ts";

/** A project's code as data, and what could not be loaded of it. */
export interface DescribedCode {
  readonly app: DescribedApp;
  readonly problems: readonly LoadProblem[];
}

export interface DescribeOptions {
  /** True to include the probe types. */
  readonly probes: boolean;
  /** Folder that the places of the sources start at. */
  readonly root: string;
  readonly placeOf: PlaceOf;
  /** Returns values of declared variables and secrets. A secret without one has a placeholder. */
  valuesOf(environment: TaskEnvironment): Values;
  /** Called with the path of each file before it is loaded, and with nothing when that has come to its end. */
  onLoading(file?: string): void;
}

export interface Values {
  readonly values: Readonly<Record<string, string>>;
  readonly placeholders: Readonly<Record<string, string>>;
}

/**
 * Loads a project's code into this process, and describes it. The declared variables are in the environment before any
 * other file is loaded, as in a worker. A file that cannot be loaded costs the others nothing.
 */
export async function describeCode(code: TaskCode, options: DescribeOptions): Promise<DescribedCode> {
  const failed: FailedFile[] = [];
  const { watched, readBy, onRead } = watchedCode(code, options);
  const attempt = async <Found>(name: Parameters<typeof otherFileOf>[1], loading: Promise<Found>, none: Found) =>
    loading.catch((error: unknown) => {
      failed.push({ file: otherFileOf(code, name) ?? name, error });
      return none;
    });
  const environment = await attempt("environment", loadEnvironment(watched), emptyEnvironment);
  setVariables(options.valuesOf(environment), onRead);
  await attempt("process", loadProcess(watched), undefined);
  const loaded = await loadTypes(watched);
  failed.push(...loaded.failed);
  const schedules = await attempt("schedules", loadSchedules(watched), []);
  const triggers = await attempt("triggers", loadTriggers(watched), []);
  const types = acceptedTypes(loaded.types, options.probes);
  const files = Object.keys(code.files).filter((name) => failed.every(({ file }) => file !== name));
  return {
    app: described({ types, schedules, triggers, environment }, files),
    problems: failed.map((one) => problemOf(code, one, { ...options, placeholders: readBy(one) })),
  };
}

/** Notes which placeholders each file read. A module that two files import fails both, and has read only once. */
function watchedCode(code: TaskCode, { onLoading }: DescribeOptions) {
  const reads = new Map<unknown, Set<string>>();
  let current = new Set<string>();
  const load = async (name: string, file: () => unknown) => {
    current = new Set();
    onLoading(`${code.folder}/${name}`);
    const own = current;
    try {
      return await file();
    } catch (error) {
      if (!reads.has(error)) reads.set(error, own);
      throw error;
    } finally {
      onLoading();
    }
  };
  const files = Object.entries(code.files).map(([name, file]) => [name, () => load(name, file)] as const);
  return {
    watched: { ...code, files: Object.fromEntries(files) },
    onRead: (name: string) => current.add(name),
    readBy: ({ error }: FailedFile) => [...(reads.get(error) ?? [])],
  };
}

/** Sets variables, and tells each read of a placeholder. */
function setVariables({ values, placeholders }: Values, onRead: (name: string) => void): void {
  Object.assign(process.env, values, placeholders);
  process.env = new Proxy(process.env, {
    get(target, name) {
      if (typeof name === "string" && Object.hasOwn(placeholders, name)) onRead(name);
      return Reflect.get(target, name);
    },
    set: setVariable,
  });
}
