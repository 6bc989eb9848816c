import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { consoleFiles } from "../../installed/console-files.ts";
import { DiskFault } from "../disk/disk-faults.ts";

/**
 * Writes the console's files into the server's folder, where the function finds them. Files of an earlier version are
 * removed.
 * @throws DiskFault
 */
export function writeConsole(dir: string): void {
  const folder = join(dir, "console");
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [name, text] of Object.entries(consoleFiles())) writeFileSync(join(folder, name), text);
  } catch (cause) {
    throw new DiskFault(folder, cause);
  }
}
