import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client, until } from "../support/http-client.ts";
import { startOwnServer } from "../support/local-server.ts";
import { projectWith } from "../support/project.ts";

/** A type that notes its run where the process notes its life. */
const noted = (name: string, options: string): string => `import { note } from "./process.ts";
import { defineTask } from "offload";
import * as z from "zod";
export default defineTask({ name: "${name}", input: z.null(), ${options} handler: () => { note("${name}"); return {}; } });
`;

/** The notes of each process, in their order. */
function notesIn(file: string): string[][] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const byProcess = Map.groupBy(lines, (line) => line.split(" ")[0]);
  return [...byProcess.values()].map((own) => own.map((line) => line.split(" ")[1] ?? ""));
}

test("processes of functions and of containers start before their first attempt, flush, and stop when the server stops", async () => {
  const folder = mkdtempSync(join(tmpdir(), "offload-process-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "notes");
  const life = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { defineProcess } from "offload";
export const note = (what) => appendFileSync(${JSON.stringify(file)}, process.pid + " " + what + "\\n");
export default defineProcess({
  start: async () => { await sleep(10); note("start"); },
  flush: () => note("flush"),
  stop: async () => { await sleep(10); note("stop"); },
});
`;
  using project = projectWith({
    process: life,
    fast: noted("fast", ""),
    long: noted("long", 'runsOn: "container",'),
  });
  const server = await startOwnServer({ OFFLOAD_KEYS: "key:acme:operator" }, project.folder);
  onTestFinished(() => server.stop());
  const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
  for (const type of ["fast", "long"]) {
    const { task_id } = await client.submit(type, null);
    await until(`the end of ${type}`, async () => (await client.task(task_id)).status === "completed" || undefined);
  }
  await server.stop();
  const used = notesIn(file).filter((notes) => notes.some((note) => note === "fast" || note === "long"));
  expect(used.map((notes) => [notes[0], notes.at(-1)])).toEqual([
    ["start", "stop"],
    ["start", "stop"],
  ]);
  for (const notes of used) expect(notes.slice(2, -1)).toEqual(expect.arrayContaining(["flush"]));
});

test("a process that cannot start, or be loaded, fails the attempts with its reason", async () => {
  const start = (text: string) => `import { defineProcess } from "offload";
export default defineProcess({ start: () => { throw new Error("${text}"); } });
`;
  const task = `import { defineTask } from "offload";
import * as z from "zod";
export default defineTask({ name: "fast", input: z.null(), maxAttempts: 1, handler: () => ({}) });
`;
  using project = projectWith({ process: start("no database"), fast: task });
  const server = await startOwnServer({ OFFLOAD_KEYS: "key:acme:operator" }, project.folder);
  onTestFinished(() => server.stop());
  const client = new Client(server.url, { token: "key", tenant: "acme", role: "operator" });
  const { task_id } = await client.submit("fast", null);
  const failed = await until("the end", async () => {
    const found = await client.task(task_id);
    return found.status === "failed" ? found : undefined;
  });
  expect(failed).toMatchObject({ error: "no database", attempts: 1 });
});
