import { type ChildProcess, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { urlOf, usageOf } from "./support/process-usage.ts";

/*
 * npm run test:files -- [megabytes]
 * Sends a file to a local server of its own, has a task read it, and fetches a result of the same size. Shows the memory of the server and of the
 * largest worker. Default: 1024 MiB, which take about a minute and 2 GiB of disk.
 */

/** The largest worker may have this much more memory with the file than before, in MB: the parts of an upload, and garbage. */
const mostGrowthMb = 150;

const chunk = Buffer.alloc(1024 * 1024, "offload ");
const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };

async function* chunks(megabytes: number): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < megabytes; count++) yield chunk;
}

async function main(megabytes: number): Promise<number> {
  const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  const folder = mkdtempSync(join(tmpdir(), "offload-files-"));
  const env = { ...process.env, ...ports, OFFLOAD_STATE_DIR: folder };
  const server = fork("bin/offload.js", ["start"], { env, silent: true });
  try {
    const url = await urlOf(server);
    await up(url, server, 8);
    await down(url, server, 8);
    const before = usageOf(server.pid ?? 0);
    const sent = await up(url, server, megabytes);
    const received = await down(url, server, megabytes);
    const grown = Math.max(sent, received) - before.workerMb;
    console.log(
      `${megabytes} MiB: largest worker ${before.workerMb.toFixed(0)} MB before, ${sent.toFixed(0)} MB while it read, ` +
        `${received.toFixed(0)} MB while it wrote; expected at most ${mostGrowthMb} MB more`,
    );
    return grown <= mostGrowthMb ? 0 : 1;
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
    rmSync(folder, { recursive: true });
  }
}

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Uploads a file, and has a task read it. Returns the largest memory of a worker meanwhile, in MB. */
async function up(url: string, server: ChildProcess, megabytes: number): Promise<number> {
  const size = megabytes * chunk.byteLength;
  const announced = await post(`${url}/uploads`, { content_type: "application/octet-stream", size_bytes: size });
  const put = await fetch(String(announced.url), {
    method: "PUT",
    headers: announced.headers as Record<string, string>,
    body: Readable.toWeb(Readable.from(chunks(megabytes))),
    duplex: "half",
  } as unknown as RequestInit);
  if (!put.ok) throw new Error(`the upload: ${put.status} ${await put.text()}`);
  const files = { file: announced.upload_id };
  const { task_id } = await post(`${url}/tasks`, { type: "probe.file", input: {}, files });
  const { result, workerMb } = await ended(url, server, String(task_id));
  const hash = createHash("sha256");
  for await (const part of chunks(megabytes)) hash.update(part);
  const expected = hash.digest("hex");
  const { size_bytes, sha256 } = result as { size_bytes: number; sha256: string };
  if (size_bytes !== size || sha256 !== expected) throw new Error(`the task read ${size_bytes} bytes, ${sha256}`);
  return workerMb;
}

/** Has a task write a file, and fetches it. Returns the largest memory of a worker meanwhile, in MB. */
async function down(url: string, server: ChildProcess, megabytes: number): Promise<number> {
  const bytes = megabytes * chunk.byteLength;
  const { task_id } = await post(`${url}/tasks`, { type: "probe.bytes", input: { bytes, as: "file" } });
  const { workerMb } = await ended(url, server, String(task_id));
  const answer = await fetch(`${url}/tasks/${task_id}/result`, { headers });
  let received = 0;
  for await (const part of answer.body ?? []) received += part.byteLength;
  if (received !== bytes) throw new Error(`the result has ${received} bytes, expected ${bytes}`);
  return workerMb;
}

async function ended(url: string, server: ChildProcess, taskId: string) {
  for (let workerMb = 0; ; await sleep(300)) {
    workerMb = Math.max(workerMb, usageOf(server.pid ?? 0).workerMb);
    const answer = await fetch(`${url}/tasks/${taskId}`, { headers });
    const task = (await answer.json()) as { status: string | number; result: unknown; error: string | null };
    if (task.status === "completed") return { result: task.result, workerMb };
    if (task.status === "failed") throw new Error(`the task failed: ${task.error}`);
  }
}

process.exitCode = await main(Number(process.argv[2] ?? 1024));
