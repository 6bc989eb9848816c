import { pathToFileURL } from "node:url";
import type { TaskCode } from "../../code/project/task-code.ts";

/** Variable with the first file of the project's built code, for the processes that run it. */
export const codeVariable = "OFFLOAD_CODE";

/** Variable with the folder of a worker as it would be deployed, for the processes that run it. */
export const workerFolderVariable = "OFFLOAD_WORKER_FOLDER";

/** Variable of a worker process that waits for a project's code. */
export const spareVariable = "OFFLOAD_SPARE";

/** The project's built code, in a process that runs it. */
export const localCode = async (): Promise<TaskCode> => import(pathToFileURL(process.env[codeVariable] ?? "").href);
