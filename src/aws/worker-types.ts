import {
  type LoadedTypes,
  loadTypes,
  moduleOf,
  otherFileOf,
  type TaskCode,
  typeFilesOf,
} from "../code/project/task-code.ts";
import { typeNameOf } from "../code/project/task-modules.ts";
import type { ProcessLife } from "../core/pipeline/work/process-life.ts";
import type { Clock, Log } from "../core/ports/tasks.ts";
import { acceptedTypes, type TaskType } from "../core/task/task.ts";
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
    const without = failed.length === 0 ? [] : (await failing()).failedTypes(failed, ports.log);
    const started = life?.started(accepted(types)) ?? accepted(types);
    use([...handled(started), ...accepted(without)]);
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
  const { failingType } = await failing();
  use(accepted(namesOf(code).map((name) => failingType(name, late))));
  return lifeNow;
}

/** Stand-ins of types, which few workers need. */
const failing = () => import("./failing-types.ts");

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
