import { accessSync, constants, mkdirSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "../machine/paths.ts";

/** Folder of the user for what can be made again: `~/.cache/offload`. Undefined: it cannot be written. */
export function userFolder(): string | undefined {
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "offload");
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    // A home may be missing, read-only or a file: each has another code, and the same answer.
    return undefined;
  }
}

/**
 * Folder for the code that Node compiles while it describes task types, on one day. Folders of other days are deleted:
 * Node deletes nothing, and the built code of a project has another name each time. Undefined: it cannot be written.
 */
export function compiledFolder(now = new Date()): string | undefined {
  const user = userFolder();
  if (user === undefined) return undefined;
  const all = join(user, "described");
  const folder = join(all, now.toISOString().slice(0, 10));
  try {
    const isFirst = mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined;
    const others = isFirst ? readdirSync(all).filter((name) => name !== basename(folder)) : [];
    for (const name of others) rmSync(join(all, name), { recursive: true, force: true });
    return folder;
  } catch {
    return undefined;
  }
}
