import { join } from "../../machine/paths.ts";
import { environmentFile, processFile, schedulesFile, taskFiles, triggersFile } from "../project/task-folder.ts";
import { placeOf } from "./places.ts";

const quoted = (value: unknown): string => JSON.stringify(value);

/** The project's files that Offload loads: task types, schedules, triggers, environment and process. */
function loadedFiles(tasks: string): string[] {
  const others = [schedulesFile(tasks), triggersFile(tasks), environmentFile(tasks), processFile(tasks)];
  return [...taskFiles(tasks), ...others.filter((file) => file !== undefined)];
}

/**
 * Text of the module that the built code starts with. Each file is loaded by a call of its own, so that a file whose
 * import fails does so alone, and none is loaded before its secrets are there.
 * @param load `require` keeps all types in one file; `import` is for code with a top-level `await`.
 */
export function entryText(root: string, tasks: string, load: "require" | "import"): string {
  const loaders = loadedFiles(tasks).map((file) => `  ${quoted(file)}: () => ${load}(${quoted(join(tasks, file))}),`);
  return `export const folder = ${quoted(placeOf(root, tasks))};\nexport const files = {\n${loaders.join("\n")}\n};\n`;
}
