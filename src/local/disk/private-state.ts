import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Permissions of the group and of other users, and the bit of folders such as /tmp, in which all users keep files. */
const others = 0o077;
const sticky = 0o1000;

/**
 * Keeps other users of this machine from reading state. Everything that this process and its workers create later is
 * readable by this user only. An existing state folder and its files lose the permissions of other users.
 * @param print Receives a warning when the folder cannot be made private.
 */
export function keepPrivate(stateDir: string | undefined, print: (line: string) => void): void {
  process.umask(others);
  if (stateDir === undefined) return;
  try {
    for (const folder of [stateDir, join(stateDir, "table")].filter((path) => existsSync(path))) {
      restrict(folder);
      const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
      for (const { name } of files) restrict(join(folder, name));
    }
  } catch (error) {
    const advice = "Other users of this machine may read it. Set OFFLOAD_STATE_DIR to a folder of your own.";
    print(`Could not make the state folder ${stateDir} private: ${(error as Error).message}. ${advice}`);
  }
}

function restrict(path: string): void {
  const { mode } = statSync(path);
  if ((mode & sticky) !== 0) throw new Error("all users share the folder");
  if ((mode & others) !== 0) chmodSync(path, mode & ~others);
}
