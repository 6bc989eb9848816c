import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Reads a file by its path relative to the function's bundle, or by its absolute path. */
export const besideBundle = (env: NodeJS.ProcessEnv, path: string): string =>
  readFileSync(resolve(env.LAMBDA_TASK_ROOT ?? ".", path), "utf8");
