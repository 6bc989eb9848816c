import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { taskFiles } from "../../src/code/project/task-folder.ts";
import { tasks as first } from "../releases/first.ts";
import { tasks as second } from "../releases/second.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a copy needs to be run, and to be deployed. */
const copied = [
  ...[
    "bin",
    "console",
    "lambdas",
    "lib",
    "src",
    "tasks",
    "test/releases",
    "test/support/emulated-app.ts",
    "test/support/emulate.ts",
    "test/support/direct-caller.ts",
    "test/support/shop.ts",
  ],
  ...["cdk.json", "package.json", "package-lock.json", "tsconfig.json"],
];

const releases = { first, second };

/** The file of a release's task type. */
const fileOf = (release: string, name: string) => `import { tasks } from "../test/releases/${release}.ts";
export default tasks.find((type) => type.name === "${name}");
`;

/** A copy of this project whose task types are those of `test/releases`; disposing of it deletes the copy. */
export function releaseOf(release: keyof typeof releases): Disposable & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), `offload-${release}-`));
  for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const file of taskFiles("tasks")) rmSync(join(folder, "tasks", file));
  for (const { name } of releases[release]) writeFileSync(join(folder, `tasks/${name}.ts`), fileOf(release, name));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
