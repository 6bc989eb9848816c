import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Reads a file by its path relative to the function's bundle, or by its absolute path. */
export const besideBundle = (env: NodeJS.ProcessEnv, path: string): string =>
  readFileSync(resolve(env.LAMBDA_TASK_ROOT ?? ".", path), "utf8");

/** Reads all files of a folder by their names. Its path is relative to the function's bundle, or absolute. */
export function filesBesideBundle(env: NodeJS.ProcessEnv, path: string): ReadonlyMap<string, string> {
  const folder = resolve(env.LAMBDA_TASK_ROOT ?? ".", path);
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}
