import * as z from "zod";
import type { ProcessLife } from "../core/pipeline/work/process-life.ts";
import type { Clock, Log } from "../core/ports/tasks.ts";
import { acceptedTypes, defineTask, type TaskType } from "../core/task/task.ts";
import {
  type LoadedTypes,
  loadTypes,
  moduleOf,
  otherFileOf,
  type TaskCode,
  typeFilesOf,
} from "../project/task-code.ts";
import { typeNameOf } from "../project/task-modules.ts";
import type { Config } from "../settings/config.ts";

/** A worker's task types: built code that is to be loaded, or types that are loaded. */
export type WorkerCode = TaskCode | readonly TaskType[];

interface Ports {
  clock: Clock;
  log: Log;
  /** The process's environment, from which code reads its secrets. */
  env: NodeJS.ProcessEnv;
  /** The worker's name in its log lines. */
  service: string;
}

/**
 * Loads a worker's task types after their secrets are in the environment, because code may need them when it is loaded.
 * A type whose file cannot be loaded fails its own attempts. While the secrets cannot be read, all do, and each tries
 * to read them again.
 * @param use Takes the types, in place of earlier ones of the same names.
 * @returns A function that returns the life of the process that the code defines, once it has begun.
 */
export async function useTypes(
  code: WorkerCode,
  { probes, secrets }: Pick<Config<"probes" | "secrets">, "probes" | "secrets">,
  ports: Ports,
  use: (types: readonly TaskType[]) => void,
): Promise<() => ProcessLife | undefined> {
  const accepted = (types: readonly TaskType[]) => acceptedTypes(types, probes);
  let beginning: Promise<ProcessLife | undefined> | undefined;
  let life: ProcessLife | undefined;
  const lifeNow = () => life;
  const load = async (handled: (types: readonly TaskType[]) => readonly TaskType[]): Promise<void> => {
    beginning ??= lifeOf(code, ports);
    life = await beginning;
    const { types, failed } = await loaded(code);
    const without = failed.map(({ file, error }) => failedType(file, ports.log, error));
    const started = life?.started(accepted(types)) ?? accepted(types);
    use([...handled(started), ...accepted(without.filter((type) => type !== undefined))]);
  };
  if (secrets === undefined) return load((types) => types).then(() => lifeNow);
  const [{ secretLoader, withSecrets }, { awsSecrets }] = await Promise.all([
    import("../core/task/secrets.ts"),
    import("./secrets.ts"),
  ]);
  const readSecrets = secretLoader({ ...ports, reader: awsSecrets() }, secrets);
  const loadAfter = () => load((types) => withSecrets(types, readSecrets));
  const unreadable = await readSecrets().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (unreadable === undefined) return loadAfter().then(() => lifeNow);
  const late = async () => {
    await readSecrets();
    await loadAfter();
    throw unreadable;
  };
  use(accepted(namesOf(code).map((name) => failing(name, late))));
  return lifeNow;
}

const loaded = async (code: WorkerCode): Promise<LoadedTypes> =>
  isLoaded(code) ? { types: code, failed: [] } : loadTypes(code);

const isLoaded = (code: WorkerCode): code is readonly TaskType[] => Array.isArray(code);

/** Loads the file for the life of the code's process, and starts it. Undefined: the code has none. */
async function lifeOf(code: WorkerCode, ports: Ports): Promise<ProcessLife | undefined> {
  const file = isLoaded(code) ? undefined : otherFileOf(code, "process");
  if (isLoaded(code) || file === undefined) return undefined;
  return (await import("./own-process.ts")).beginProcess(ports, moduleOf(code, file), ports.service === "worker");
}

const namesOf = (code: WorkerCode): string[] =>
  isLoaded(code) ? code.map(({ name }) => name) : typeFilesOf(code).map(typeNameOf);

/** A task type whose file cannot be loaded. */
export class TypeNotLoaded extends Error {
  override readonly name = "TypeNotLoaded";
}

/** Stands for a type whose file could not be loaded. Undefined: the file's name is that of no type. */
function failedType(file: string, log: Log, cause: unknown): TaskType | undefined {
  const name = typeNameOf(file);
  const reason = String(cause);
  log.error("a task type could not be loaded; its attempts fail", { type: name, reason });
  try {
    return failing(name, () => {
      throw new TypeNotLoaded(`the code of the task type ${name} could not be loaded: ${reason}`, { cause });
    });
  } catch {
    return undefined;
  }
}

/** @throws TypeError for a name that no type has */
const failing = (name: string, handler: () => unknown): TaskType =>
  defineTask({ name, input: z.unknown(), handler, onFailed: handler });
