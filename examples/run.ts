import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

/*
 * Runs a script of an example from this repository: `npm run example <name> [script] [-- options]`; default: its script `start`.
 * An example imports the built package, as a project of its own does, through a link in examples/node_modules. Its other packages are
 * in the repository's node_modules.
 */

const root = resolve(import.meta.dirname, "..");
const modules = join(import.meta.dirname, "node_modules");
const [name = "", script = "start", ...options] = process.argv.slice(2);
const names = readdirSync(import.meta.dirname).filter((folder) =>
  existsSync(join(import.meta.dirname, folder, "package.json")),
);

/** Runs a program with this terminal. Ends this process when it fails. */
function run(command: string, args: readonly string[], cwd: string): void {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

if (!names.includes(name)) {
  console.error(`Usage: npm run example <name> [script]. Examples: ${names.join(", ")}`);
  process.exit(2);
}
run("npm", ["run", "--silent", "build"], root);
mkdirSync(join(modules, ".bin"), { recursive: true });
if (!existsSync(join(modules, "offload"))) symlinkSync(root, join(modules, "offload"));
if (!existsSync(join(modules, ".bin/offload")))
  symlinkSync(join(root, "bin/offload.js"), join(modules, ".bin/offload"));
run("npm", ["run", "--silent", script, "--", ...options], join(import.meta.dirname, name));
