import type { TaskProcess } from "../../core/task/process.ts";
import { loadOther, type TaskCode } from "./task-code.ts";
import { TaskFileError } from "./task-modules.ts";

/**
 * Loads what a project defines for its processes. Undefined: nothing.
 * @throws TaskFileError, or what the file throws
 */
export const loadProcess = (code: TaskCode): Promise<TaskProcess | undefined> =>
  loadOther<TaskProcess | undefined>(code, "process", processIn, undefined);

function processIn(shown: string, { default: found }: { default?: unknown }): TaskProcess {
  const names = ["start", "flush", "stop"];
  if (typeof found === "object" && found !== null && names.every((name) => name in found)) return found as TaskProcess;
  throw new TaskFileError(
    `${shown} does not define a process. Expected \`export default defineProcess({ start, flush, stop })\`. ` +
      "If the file is a task type, rename it: this name is for the process.",
  );
}
