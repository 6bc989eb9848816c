import { readdirSync, statSync } from "node:fs";
import { machineOf, targetMachine } from "../src/code/build/machine.ts";
import { TaskFileError } from "../src/code/project/task-modules.ts";
import { join } from "../src/machine/paths.ts";

/** Most bytes of a function's code, unpacked. */
const mostBytes = 262_144_000;

/**
 * Checks what Lambda would refuse, or could not run.
 * @throws TaskFileError
 */
export function checkAsset(folder: string, most = mostBytes): void {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .sort();
  checkMachines(folder, files);
  checkBytes(folder, files, most);
}

function checkMachines(folder: string, files: readonly string[]): void {
  for (const file of files) {
    const machine = machineOf(join(folder, file));
    if (machine === undefined || machine === targetMachine) continue;
    const name = packageIn(file);
    const maker = name === undefined ? "" : ` The package ${name} makes it on the machine that installs it.`;
    throw new TaskFileError(
      `${file} is for ${machine}, and the workers run on ${targetMachine}.${maker} Synthesize on ${targetMachine}, as in ` +
        `\`docker run --platform linux/arm64\`; or name a file for ${targetMachine} in the option workerFiles of the ` +
        `TaskPipeline: { ${JSON.stringify(file)}: "path/of/that/file" }.`,
    );
  }
}

function checkBytes(folder: string, files: readonly string[], most: number): void {
  const sizes = new Map<string, number>();
  for (const file of files) {
    const part = packageIn(file) ?? "the code";
    sizes.set(part, (sizes.get(part) ?? 0) + statSync(join(folder, file)).size);
  }
  const all = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
  if (all <= most) return;
  const largest = [...sizes].sort(([, a], [, b]) => b - a).slice(0, 3);
  const shown = largest.map(([part, bytes]) => `${part} ${megabytes(bytes)}`).join(", ");
  throw new TaskFileError(
    `The workers' code has ${megabytes(all)}, and Lambda takes at most ${megabytes(most)}. The largest parts: ${shown}. ` +
      "Import less of them, or put the types that need them into an app of their own.",
  );
}

const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MB`;

/** Name of the package that has a file of the asset. Undefined: the file is the project's own. */
const packageIn = (file: string): string | undefined => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
