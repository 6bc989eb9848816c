import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { createClient, type TaskView } from "offload/client";
import { startLocalServer } from "offload/testing";
import { expect, onTestFinished } from "vitest";
import { createServer } from "../server.ts";
import type * as tasks from "../tasks/index.ts";
import { probe, temporaryFolder } from "./videos.ts";

/** Set for a deployment: then the tests use it, with a container worker on this machine, in place of a local server. */
export const deployed = process.env.OFFLOAD_URL !== undefined;

export const heights = [240, 180, 120];
export const patient = { timeout: 300_000, interval: 250 };

export interface VideoView {
  status: string;
  progress: number;
  error: string | null;
  renditions: { name: string; url: string; duration_s: number; resolution: string }[] | null;
}

async function startOffload(env: Record<string, string>) {
  if (!deployed) {
    const server = await startLocalServer({ env });
    onTestFinished(() => server.stop());
    return { url: server.url, key: "dev-acme", pid: server.pid };
  }
  const worker = spawn("offload", ["work", "--table", process.env.OFFLOAD_TABLE ?? ""], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit"],
  });
  onTestFinished(() => stop(worker));
  return { url: process.env.OFFLOAD_URL ?? "", key: process.env.OFFLOAD_KEY ?? "", pid: worker.pid ?? 0 };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
}

/** Starts Offload and the web server, which end with the test. */
export async function startSystem() {
  const folder = temporaryFolder();
  const { url: offloadUrl, key, pid } = await startOffload({ TMPDIR: folder, OFFLOAD_TIME_SCALE: "0.01" });
  // The deployment's bucket takes the files of this origin's pages.
  const port = deployed ? 4000 : 0;
  const server = serve({ fetch: createServer({ offloadUrl, key, heights }).fetch, port, hostname: "127.0.0.1" });
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function call<Answer>(path: string, body?: object): Promise<Answer> {
    const response = await fetch(new URL(path, url), {
      ...(body && { method: "POST", body: JSON.stringify(body) }),
      headers: { "content-type": "application/json" },
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(`${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Sends a file to the storage, as the page does. Returns the body for `POST /videos`. */
  async function upload(bytes: Uint8Array<ArrayBuffer>, type = "video/mp4") {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const announced = await call<{ upload_id: string; url: string; method: string; headers: Record<string, string> }>(
      "/uploads",
      { name: "video.mp4", type, size: bytes.byteLength, sha256 },
    );
    const { url: storage, method, headers, upload_id } = announced;
    const stored = await fetch(storage, { method, headers, body: bytes });
    expect(stored.status, await stored.text()).toBe(200);
    return { upload_id, sha256 };
  }

  return {
    folder,
    url,
    pid,
    client: createClient<typeof tasks>({ url: offloadUrl, key }),
    call,
    upload,
    /** Uploads a video and starts its task. */
    async start(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
      return (await call<{ id: string }>("/videos", await upload(bytes))).id;
    },
    video: (id: string) => call<VideoView>(`/videos/${id}`),
    /** Waits for a video's end. */
    async ended(id: string): Promise<VideoView> {
      const isEnd = async () =>
        ["completed", "failed", "cancelled"].includes((await call<VideoView>(`/videos/${id}`)).status);
      await expect.poll(isEnd, patient).toBe(true);
      return call<VideoView>(`/videos/${id}`);
    },
    /** Reads a rendition through the web server's redirect. */
    async probed(path: string) {
      const response = await fetch(new URL(path, url));
      expect(response.headers.get("content-type")).toBe("video/mp4");
      const file = join(folder, "downloaded.mp4");
      writeFileSync(file, Buffer.from(await response.arrayBuffer()));
      return probe(file);
    },
    async children(id: string): Promise<TaskView[]> {
      const authorization = `Bearer ${key}`;
      const answer = await fetch(new URL(`/tasks/${id}/children`, offloadUrl), { headers: { authorization } });
      return ((await answer.json()) as { tasks: TaskView[] }).tasks;
    },
    /** Folders of tasks that were not removed. */
    left: () => readdirSync(folder).filter((name) => name.startsWith("video-")),
  };
}

/** The processes below a process, with their commands. Linux only. */
export function processesBelow(pid: number): { pid: number; parent: number; command: string }[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1]);
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, "utf8") }];
      } catch {
        return []; // It has ended.
      }
    });
  const below = [pid];
  for (const parent of below) for (const one of all) if (one.parent === parent) below.push(one.pid);
  return all.filter((one) => one.pid !== pid && below.includes(one.pid));
}

export const encodersBelow = (pid: number) => processesBelow(pid).filter(({ command }) => /^ffmpeg\0/.test(command));

/** True while there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
