import type { ChildProcess, SpawnSyncOptions, SpawnSyncReturns } from "node:child_process";
import { rename } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import crossSpawn from "cross-spawn";

/*
 * Programs and files of this machine, where Windows differs from the others.
 */

const isWindows = process.platform === "win32";

/** File name of Node's program. */
export const nodeName = isWindows ? "node.exe" : "node";

/**
 * Starts a program by its name. The program of a package, such as `npm`, is a script for a shell on Windows, and Node
 * itself starts no scripts.
 */
export const startProgram: typeof import("node:child_process").spawn = crossSpawn.spawn;

/** Runs a program by its name, and waits for its end. As of Node's own function, `error` is undefined when it ran. */
export function runProgram(
  name: string,
  args: readonly string[],
  options: SpawnSyncOptions = {},
): SpawnSyncReturns<string> {
  const { error, ...ran } = crossSpawn.sync(name, [...args], { ...options, encoding: "utf8" });
  // The library says null.
  return { ...ran, ...(error && { error }) };
}

/**
 * Asks a program to end. Windows has no such signal: there the program ends, and those that it started, as the shell
 * around a script of a package is only the first of them.
 */
export function endProgram(program: ChildProcess, platform: string = process.platform, run = runProgram): void {
  if (platform !== "win32" || program.pid === undefined) program.kill("SIGTERM");
  else run("taskkill", ["/pid", String(program.pid), "/t", "/f"], { stdio: "ignore" });
}

/** The program that opens a URL in the person's browser, with its first arguments. `BROWSER` names another one. */
export function browserOf(
  { BROWSER: named }: NodeJS.ProcessEnv,
  platform: string = process.platform,
): [program: string, ...args: string[]] {
  if (named !== undefined && named !== "") return [named];
  if (platform === "darwin") return ["open"];
  return platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}

/** Codes of errors of a file or folder that another program has open, such as a search for viruses. */
const heldCodes: ReadonlySet<unknown> = new Set(["EPERM", "EACCES", "EBUSY"]);

const holdTries = 8;
const firstHoldMs = 20;

/** Renames a file or folder. Windows refuses that while another program has it open: then it tries again. */
export async function renameHeld(from: string, to: string, move = rename, wait: (ms: number) => unknown = sleep) {
  for (let tries = 1; ; tries++) {
    try {
      return await move(from, to);
    } catch (error) {
      if (tries === holdTries || !heldCodes.has((error as NodeJS.ErrnoException).code)) throw error;
      await wait(firstHoldMs * 2 ** tries);
    }
  }
}

/** A text as one word of a command line that a person copies. */
export function shellWord(text: string, platform: string = process.platform): string {
  if (/^[\w./:@=,+-]+$/.test(text) || (platform === "win32" && /^[\w./\\:@=,+-]+$/.test(text))) return text;
  return platform === "win32" ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Letters that no file of Windows has in its name, and names that mean a device there, with any extension. */
const forbidden = /[<>:"|?*]|[. ]+$/g;
const devices = /^(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(?=\.|$)/i;

/** A name for a file of this machine. */
export const fileName = (name: string, platform: string = process.platform): string =>
  platform === "win32" ? name.replaceAll(forbidden, "_").replace(devices, "$1_") : name;
