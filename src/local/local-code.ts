import { pathToFileURL } from "node:url";
import type { TaskCode } from "../task-code.ts";

/** Variable with the first file of the project's built code, for the processes that run it. */
export const codeVariable = "OFFLOAD_CODE";

/** The project's built code, in a process that runs it. */
export const localCode = async (): Promise<TaskCode> => import(pathToFileURL(process.env[codeVariable] ?? "").href);
