import { ProcessLife } from "../core/pipeline/work/process-life.ts";
import type { Clock, Log } from "../core/ports/tasks.ts";
import type { TaskProcess } from "../core/task/process.ts";

/** The file `process.ts` of the tasks folder cannot be loaded. */
class ProcessNotLoaded extends Error {
  override readonly name = "ProcessNotLoaded";
}

/** Mark of a process that takes its time after SIGTERM, and then exits. */
const endsItself = Symbol.for("offload.endsItself");

/** True in a process that ends itself: of this copy of the package, or of a built worker. */
export const doesEndItself = (): boolean => endsItself in globalThis;

/**
 * Starts a process as `tasks/process.ts` says, before the task types are loaded: what it starts may change their
 * libraries. A file that cannot be loaded fails each attempt.
 * @param isFunction True where nothing else ends the process: it exits after SIGTERM when its life is over. Lambda
 * sends the signal only where the function has an extension, and kills the process some hundred milliseconds later.
 */
export async function beginProcess(
  ports: { clock: Clock; log: Log },
  loading: Promise<{ default?: unknown }>,
  isFunction: boolean,
): Promise<ProcessLife> {
  const own = await loading.then(
    (module) => (module.default ?? {}) as TaskProcess,
    (cause: unknown): TaskProcess => ({
      start: () => {
        throw new ProcessNotLoaded(`the code of process.ts could not be loaded: ${String(cause)}`, { cause });
      },
    }),
  );
  const life = new ProcessLife(ports, own);
  if (isFunction) {
    Object.defineProperty(globalThis, endsItself, { value: true });
    process.once("SIGTERM", async () => {
      await life.end();
      process.exit(0);
    });
  }
  await life.begin();
  return life;
}
