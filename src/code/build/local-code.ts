import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, realPath } from "../../machine/paths.ts";
import { bundleTasks } from "./bundle.ts";
import { ownSources } from "./imports.ts";
import { codeName } from "./names.ts";
import { isOfPackage, rootOf } from "./places.ts";

/** A project's code, built for this machine. */
export interface LocalCode {
  /** Its first file. */
  readonly file: string;
  readonly root: string;
  /** The project's own files that it is built from. */
  readonly sources: readonly string[];
  /** Deletes it. Processes that have loaded it go on, except that they cannot load its further files. */
  [Symbol.dispose](): void;
}

/**
 * Builds a project's code as for Lambda, except that packages stay where they are, so that a change is built in a
 * moment.
 * @throws TaskFileError
 */
export async function buildLocalCode(tasks: string): Promise<LocalCode> {
  const root = rootOf(tasks);
  const out = mkdtempSync(join(realPath(tmpdir()), "offload-code-"));
  const remove = () => rmSync(out, { recursive: true, force: true });
  try {
    const options = { root, tasks: realPath(tasks), mode: "local" as const };
    const { graph } = await bundleTasks({ ...options, isInPlace: isOfPackage, placeOf: (file) => file }, out);
    return { file: join(out, codeName), root, sources: ownSources(graph), [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    throw error;
  }
}
