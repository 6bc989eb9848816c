import { fork } from "node:child_process";
import type { TaskType } from "../core/task/task.ts";
import { type Role, roleVariable } from "./messages.ts";
import { memoryFlags, workSettings } from "./settings.ts";
import { supervise } from "./supervise.ts";
import { runProcess } from "./work-process.ts";

/**
 * The program of a container: `node index.mjs` of the bundle `work` (`lib/esbuild.ts`). It starts itself once more for the processes that run
 * attempts. Its settings are those of the worker functions except `OFFLOAD_TIER`, and those in `settings.ts`.
 * @param load Imports the task types.
 */
export async function startContainer(load: () => Promise<readonly TaskType[]>): Promise<void> {
  const role = process.env[roleVariable] as Role | undefined;
  if (role !== undefined) return runProcess(role, load);
  const settings = workSettings(process.env);
  const program = process.argv[1] ?? "";
  process.exitCode = await supervise(settings, (role) =>
    fork(program, { env: { ...process.env, [roleVariable]: role }, execArgv: memoryFlags(settings) }),
  );
}
