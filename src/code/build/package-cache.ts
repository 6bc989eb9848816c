import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { userFolder } from "../../installed/user-folder.ts";
import { join, realPath } from "../../machine/paths.ts";

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

function temporaryFolder(): string {
  if (temporary !== undefined) return temporary;
  const folder = mkdtempSync(join(realPath(tmpdir()), "offload-packages-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  temporary = folder;
  return folder;
}
