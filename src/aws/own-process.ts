import type { Clock, Log } from "../core/ports/tasks.ts";
import type { TaskProcess } from "../core/task/process.ts";
import { ProcessLife } from "../core/work/process-life.ts";
import { loadProcess } from "../project/process-file.ts";
import type { TaskCode } from "../project/task-code.ts";

/** The file `process.ts` of the tasks folder cannot be loaded. */
class ProcessNotLoaded extends Error {
  override readonly name = "ProcessNotLoaded";
}

/**
 * Starts a process as `tasks/process.ts` says, before the task types are loaded: what it starts may change their
 * libraries. A file that cannot be loaded fails each attempt.
 */
export async function beginProcess(ports: { clock: Clock; log: Log }, code: TaskCode): Promise<ProcessLife> {
  const own = await loadProcess(code).catch(
    (cause: unknown): TaskProcess => ({
      start: () => {
        throw new ProcessNotLoaded(`the code of process.ts could not be loaded: ${String(cause)}`, { cause });
      },
    }),
  );
  const life = new ProcessLife(ports, own ?? {});
  await life.begin();
  return life;
}
