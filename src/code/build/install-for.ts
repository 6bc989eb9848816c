import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { dirname, join } from "../../machine/paths.ts";
import { renameHeld, startProgram } from "../../machine/platform.ts";
import { TaskFileError } from "../project/task-modules.ts";
import { lockedIn, npmLock } from "./locked.ts";
import { targetMachine } from "./machine.ts";
import { packageCache } from "./package-cache.ts";

/** Longest time for an installation, in milliseconds. */
const limitMs = 180_000;

/**
 * Installs one version of a package for Lambda's machine, once, into the project's part of the user's cache. Install
 * scripts do not run: they would make what this machine needs.
 * @returns The `node_modules` folder.
 * @throws TaskFileError
 */
export async function installedFor(root: string, name: string, version: string): Promise<string> {
  const cache = packageCache(root);
  const folder = join(cache, `${name.replace("/", "+")}@${version}-${targetMachine}`);
  if (!existsSync(folder)) await install(root, `${name}@${version}`, folder);
  const modules = join(folder, "node_modules");
  compareWithLock(root, modules);
  return modules;
}

/** Installs into a folder beside the final one, which therefore is whole, also when two builds run at the same time. */
async function install(root: string, wanted: string, folder: string): Promise<void> {
  const making = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(join(making, "package.json"), '{ "private": true }');
    const settings = above(root, ".npmrc");
    const copied = join(making, ".npmrc");
    if (settings !== undefined) copyFileSync(settings, copied);
    const [os = "", cpu = ""] = targetMachine.split("-");
    const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save", "--no-package-lock"];
    const machine = [`--os=${os}`, `--cpu=${cpu}`, "--libc=glibc"];
    await npm(["install", ...flags, ...machine, wanted], making);
    // It may have tokens.
    rmSync(copied, { force: true });
    await keep(making, folder);
  } catch (error) {
    const { message } = error as Error;
    throw new TaskFileError(
      `${wanted} needs its binaries for ${targetMachine}, and npm could not install them: ` +
        message.split("\n").slice(0, 4).join(" "),
    );
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** @throws Error with what npm wrote to its error output, when it fails */
async function npm(args: readonly string[], cwd: string): Promise<void> {
  const child = startProgram("npm", [...args], { cwd, timeout: limitMs, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "close");
  const said = child.stderr === null ? "" : await text(child.stderr);
  const [code, signal] = await ended;
  if (code !== 0) throw new Error(`npm ${args[0]} ended with ${signal ?? code}\n${said}`);
}

/** Another build may have been faster. */
async function keep(making: string, folder: string): Promise<void> {
  try {
    await renameHeld(making, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

/** @throws TaskFileError for a package that is another one than the project's lock file names */
function compareWithLock(root: string, modules: string): void {
  const locked = lockedIn(root);
  if (locked === undefined) return;
  for (const [name, made] of npmLock(readFileSync(join(modules, ".package-lock.json"), "utf8"))) {
    const expected = locked.integrities.get(name);
    if (expected !== undefined && expected !== made)
      throw new TaskFileError(`${name} is not the package that ${locked.file} names: its integrity differs.`);
  }
}

/** The file of a name in a folder, or in the nearest one above it. */
function above(folder: string, name: string): string | undefined {
  if (existsSync(join(folder, name))) return join(folder, name);
  return folder === dirname(folder) ? undefined : above(dirname(folder), name);
}
