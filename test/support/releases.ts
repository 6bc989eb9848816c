import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What a copy needs to be run, and to be deployed. */
const copied = [
  ...["bin", "lambdas", "lib", "src", "tasks", "test/releases", "test/support/emulated-app.ts"],
  ...["cdk.json", "package.json", "package-lock.json", "tsconfig.json"],
];

const index = (
  release: string,
  path = JSON.stringify(`../test/releases/${release}.ts`),
) => `export { tasks } from ${path};
import { tasks } from ${path};
export const probes = () => [];
export const acceptedTypes = () => tasks;
`;

/** A copy of this project whose task types are those of `test/releases`; disposing of it deletes the copy. */
export function releaseOf(release: "first" | "second"): Disposable & { folder: string } {
  const folder = mkdtempSync(join(tmpdir(), `offload-${release}-`));
  for (const path of copied) cpSync(join(root, path), join(folder, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "tasks/index.ts"), index(release));
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
