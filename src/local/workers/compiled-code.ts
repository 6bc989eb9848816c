import { readdir, rm, stat } from "node:fs/promises";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";

/** Variable with the folder in which worker processes keep compiled code. */
const compiledVariable = "OFFLOAD_COMPILED_CODE";

/** The variable for a process that keeps its compiled code where this one does. Empty where this one keeps none. */
export function compiledEnv(): Record<string, string> {
  const own = getCompileCacheDir();
  // Node adds a folder for its version.
  return own === undefined ? {} : { [compiledVariable]: dirname(own) };
}

/** Keeps what this process compiles from now on, if its variable names a folder. */
export function keepCompiled(): void {
  const { [compiledVariable]: folder } = process.env;
  if (folder !== undefined) enableCompileCache(folder);
}

/** Bytes of compiled code from which the oldest is deleted, until half of them are left. */
const maxBytes = 200 * 1024 * 1024;

/**
 * Deletes the oldest compiled code when there is a lot: Node deletes none, and each reload adds some. A process that
 * does not find its own compiles it again.
 */
export async function boundCompiled(folder = getCompileCacheDir(), max = maxBytes): Promise<void> {
  if (folder === undefined) return;
  const found: { path: string; bytes: number; atMs: number }[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const { size, mtimeMs } = await stat(path).catch(() => ({ size: 0, mtimeMs: 0 }));
    found.push({ path, bytes: size, atMs: mtimeMs });
  }
  let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
  if (bytes <= max) return;
  for (const one of found.sort((a, b) => a.atMs - b.atMs)) {
    if (bytes <= max / 2) return;
    await rm(one.path, { force: true });
    bytes -= one.bytes;
  }
}
