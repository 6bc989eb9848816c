import { writeFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import type { Client } from "../../client/index.ts";
import { isTerminal } from "../../core/model/words.ts";
import { fileName } from "../../machine/platform.ts";
import { CommandFailed, plain, type Terminal } from "./terminal.ts";

/** @throws CommandFailed when the task has not ended */
export async function requireEnd(client: Client, taskId: string): Promise<void> {
  const { status } = await client.status(taskId);
  if (isTerminal(status)) return;
  throw new CommandFailed(`the task is ${status}; to wait for its result run: npx offload tasks follow ${taskId}`);
}

/**
 * Writes a task's result: JSON to the standard output, a file under its own name in the current folder. `output` names
 * another file; `-` is the standard output.
 * @throws CommandFailed when the file cannot be written, or when a file with the result's own name exists
 */
export async function writeResult(terminal: Terminal, taskId: string, result: unknown, output?: string): Promise<void> {
  const isFile = result instanceof File;
  const json = isFile ? "" : JSON.stringify(result ?? null, null, 2);
  if (output === "-" || (output === undefined && !isFile)) {
    return isFile ? terminal.bytes(await result.bytes()) : terminal.out(json);
  }
  const path = output ?? ownName((result as File).name);
  const data = isFile ? await result.bytes() : `${json}\n`;
  try {
    // A name that the task chose never replaces a file.
    await writeFile(resolve(path), data, { flag: output === undefined ? "wx" : "w" });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? `${path} exists` : `could not write the result: ${message}`;
    throw new CommandFailed(`${why}; run: npx offload tasks result ${taskId} --output <file>`, { cause: error });
  }
  terminal.note(`Wrote ${path} (${Buffer.byteLength(data)} bytes).`);
}

/** The last part of a name, without characters that a shell or a folder listing would hide. */
function ownName(name: string): string {
  const last = basename(plain(name).replaceAll("\\", "/")).replace(/^[.\s-]+/, "");
  return last === "" ? "result" : fileName(last);
}
