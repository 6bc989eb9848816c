import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { consoleFiles } from "../../installed/console-files.ts";
import { DiskFault } from "../disk/disk-faults.ts";

/**
 * Writes the console's files into the folder where its function finds them. Files of an earlier version are removed.
 * Called with the first request for one: from the sources they are built, which takes a fifth of a start.
 * @throws DiskFault
 */
export function writeConsole(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    for (const [name, text] of Object.entries(consoleFiles())) writeFileSync(join(folder, name), text);
  } catch (cause) {
    throw new DiskFault(folder, cause);
  }
}
