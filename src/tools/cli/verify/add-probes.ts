import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { tasksFolder } from "../../../code/project/task-folder.ts";
import { packageFolder } from "../../../installed/installation.ts";
import type { Terminal } from "../terminal.ts";

/** The probe types that the checks use. The package has their files. */
export const usedProbes = ["probe.echo", "probe.fail", "probe.crash", "probe.file", "probe.long"] as const;

/** Copies the probe types to the folder of the task types. Overwrites no file. */
export function addProbes(terminal: Terminal): void {
  const folder = tasksFolder();
  mkdirSync(folder, { recursive: true });
  for (const name of usedProbes) {
    const path = join(folder, `${name}.ts`);
    if (existsSync(path)) continue;
    copyFileSync(join(packageFolder, "tasks", `${name}.ts`), path);
    terminal.out(`  + ${path}`);
  }
  terminal.note(
    "Types named `probe.*` are registered only where the construct has `probes: true`, and on the local server. probe.long " +
      "needs `containers`: delete its file where there are none.",
  );
}
