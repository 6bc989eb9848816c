import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Client, Download } from "../../client/index.ts";
import { renameHeld } from "../../machine/platform.ts";
import { clientOf, connection, followerOf } from "./connection.ts";
import type { Register } from "./group.ts";
import { CommandFailed, interrupted, type Terminal } from "./terminal.ts";
import { withProgress } from "./transfer-progress.ts";
import { requireEnd, writeResult } from "./write-result.ts";

const examples = `
With --out the result is written as it arrives, whatever its size: to a temporary file beside the named one, which gets its name
at the end. Without --out the command prints JSON, and saves a file under its own name in the current folder.

Examples:
  npx offload result 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --out talk.mp4
  npx offload result 0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11 --out - | jq .total
`;

/** `offload result` */
export const register: Register = (group) => {
  const own = [
    ["<task_id>"],
    ["--out <file>", "write the result to this file; - is the standard output"],
    ["--force", "replace the file if it exists"],
  ] as const;
  group.help(examples).does([...own, ...connection], async (options, id) => {
    const client = clientOf(options);
    const { out, force } = options;
    if (out !== "-" && out !== undefined) refuseExisting(out, force);
    await requireEnd(client, id);
    if (out !== undefined) return downloadTo(group.terminal, followerOf(options), id, out, force);
    await writeResult(group.terminal, id, await client.result(id));
    return undefined;
  });
};

/** `offload acknowledge` */
export const registerAcknowledge: Register = (group) => {
  group.does([["<task_id>"], ...connection], async (options, id) => {
    await clientOf(options).acknowledge(id);
    group.terminal.note(`The result of task ${id} is deleted.`);
  });
};

/** @throws CommandFailed */
function refuseExisting(path: string, force = false): void {
  if (!force && existsSync(path)) throw new CommandFailed(`${path} exists; to replace it, add --force`);
}

async function downloadTo(
  terminal: Terminal,
  client: Client,
  id: string,
  out: string,
  force: boolean | undefined,
): Promise<number> {
  const stop = new AbortController();
  const release = terminal.onInterrupt(() => stop.abort(new Error("Ctrl-C")));
  try {
    await withProgress(terminal, `Downloading ${out === "-" ? "the result" : basename(out)}`, async (options) => {
      const download = await client.download(id, { ...options, signal: stop.signal });
      if (out === "-") for await (const piece of download.body) await terminal.bytes(piece);
      else await save(download, out, force);
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    terminal.note("Stopped.");
    return interrupted;
  } finally {
    release();
  }
  if (out !== "-") terminal.note(`Wrote ${out}.`);
  return 0;
}

/** Writes to a temporary file beside the named one, so that a file with the name is always whole. */
async function save(download: Download, out: string, force: boolean | undefined): Promise<void> {
  const temporary = `${out}.${randomUUID().slice(0, 8)}.part`;
  try {
    // Created before the transfer starts: what a later error deletes is there.
    const file = await open(temporary, "wx");
    await pipeline(download.body, file.createWriteStream());
    refuseExisting(out, force);
    await renameHeld(temporary, out);
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof CommandFailed) throw error;
    throw new CommandFailed(`could not write the result to ${out}: ${(error as Error).message}`, { cause: error });
  }
}
