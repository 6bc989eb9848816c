import { createHash } from "node:crypto";
import { accessSync, constants, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

let temporary: string | undefined;

/**
 * Folder of the user for packages of a project that were installed for another machine. The project itself is not
 * written to: a build also runs in a read-only checkout. A user whose home cannot be written gets a folder for this
 * process, since one under a known name in a folder of all users could have been filled by another.
 */
export function packageCache(root: string): string {
  const project = createHash("sha256").update(root).digest("hex").slice(0, 16);
  const folder = join(userFolder() ?? temporaryFolder(), project);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Undefined: it cannot be written. */
function userFolder(): string | undefined {
  try {
    const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "offload");
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    // A home may be missing, read-only or a file: each has another code, and the same answer.
    return undefined;
  }
}

function temporaryFolder(): string {
  if (temporary !== undefined) return temporary;
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "offload-packages-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  temporary = folder;
  return folder;
}
