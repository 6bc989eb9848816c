import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { TaskFileError } from "../task-modules.ts";
import { targetMachine } from "./machine.ts";

const run = promisify(execFile);

/** Longest time for an installation, in milliseconds. */
const limitMs = 180_000;

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
}
type Lock = { readonly packages?: Readonly<Record<string, LockEntry>> };

/**
 * Installs one version of a package for Lambda's machine, once, into the project's cache. Install scripts do not run: they would make what
 * this machine needs.
 * @returns The `node_modules` folder.
 * @throws TaskFileError
 */
export async function installedFor(root: string, name: string, version: string): Promise<string> {
  const folder = join(root, "node_modules/.cache/offload", `${name.replace("/", "+")}@${version}-${targetMachine}`);
  const done = join(folder, "done");
  const modules = join(folder, "node_modules");
  if (existsSync(done)) return modules;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const settings = above(root, ".npmrc");
  if (settings !== undefined) symlinkSync(settings, join(folder, ".npmrc"));
  const [os = "", cpu = ""] = targetMachine.split("-");
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--no-package-lock"];
  const machine = [`--os=${os}`, `--cpu=${cpu}`, "--libc=glibc"];
  await run("npm", ["install", ...flags, ...machine, `${name}@${version}`], { cwd: folder, timeout: limitMs }).catch(
    ({ message }: Error) => {
      throw new TaskFileError(
        `${name}@${version} needs its binaries for ${targetMachine}, and npm could not install them: ` +
          message.split("\n").slice(0, 4).join(" "),
      );
    },
  );
  compareWithLock(root, modules);
  writeFileSync(done, "");
  return modules;
}

/** @throws TaskFileError for a package that is another one than the project's lock file names */
function compareWithLock(root: string, modules: string): void {
  const own = above(root, "package-lock.json");
  if (own === undefined) return;
  const known = new Map(
    Object.entries(lockAt(own).packages ?? {}).map(([path, entry]) => [keyOf(path, entry), entry.integrity]),
  );
  for (const [path, entry] of Object.entries(lockAt(join(modules, ".package-lock.json")).packages ?? {})) {
    const expected = known.get(keyOf(path, entry));
    if (expected !== undefined && expected !== entry.integrity) {
      throw new TaskFileError(`${keyOf(path, entry)} is not the package that ${own} names: its integrity differs.`);
    }
  }
}

const lockAt = (file: string): Lock => JSON.parse(readFileSync(file, "utf8"));

const modulesFolder = "node_modules/";
const keyOf = (path: string, { version }: LockEntry): string =>
  `${path.slice(path.lastIndexOf(modulesFolder) + modulesFolder.length)}@${version}`;

/** The file of a name in a folder, or in the nearest one above it. */
function above(folder: string, name: string): string | undefined {
  if (existsSync(join(folder, name))) return join(folder, name);
  return folder === dirname(folder) ? undefined : above(dirname(folder), name);
}
