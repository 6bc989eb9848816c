import { fork } from "node:child_process";
import type { TaskCode } from "../code/project/task-code.ts";
import { type Role, roleVariable } from "./messages.ts";
import { memoryFlags, workSettings } from "./settings.ts";
import { supervise } from "./supervise.ts";
import { runProcess } from "./work-process.ts";

/**
 * The program of a container: `node index.mjs` of the bundle `work` (`lib/esbuild.ts`). It starts itself once more for
 * the processes that run attempts. Its settings are those of the worker functions except `OFFLOAD_TIER`, and those in
 * `settings.ts`.
 * @param code The task types, which only the processes that run attempts load: a handler's code may end its process.
 */
export async function startContainer(code: TaskCode): Promise<void> {
  const role = process.env[roleVariable] as Role | undefined;
  if (role !== undefined) return runProcess(role, code);
  const settings = workSettings(process.env);
  const program = process.argv[1] ?? "";
  process.exitCode = await supervise(settings, (role) =>
    fork(program, { env: { ...process.env, [roleVariable]: role }, execArgv: memoryFlags(settings) }),
  );
}
