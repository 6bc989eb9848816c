import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Kernel ticks in a second: `getconf CLK_TCK` of every Linux that Node supports. */
const ticks = 100;

/** What a local server and its workers use. Reads /proc, so it needs Linux. */
export interface Usage {
  cpuSeconds: number;
  /** Resident memory without mapped files, which are the table's on disk: the server's, and the largest of a worker's, in MB. */
  serverMb: number;
  workerMb: number;
}

/** CPU time and memory of a process and all its descendants. */
export function usageOf(root: number): Usage {
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap(statOf);
  const tree = new Set([root]);
  for (let size = 0; size < tree.size; ) {
    size = tree.size;
    for (const { pid, parent } of stats) if (tree.has(parent)) tree.add(pid);
  }
  const ours = stats.filter(({ pid }) => tree.has(pid));
  const workers = ours.filter(({ pid }) => pid !== root).map(({ mb }) => mb);
  return {
    cpuSeconds: ours.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    serverMb: ours.find(({ pid }) => pid === root)?.mb ?? 0,
    workerMb: Math.max(0, ...workers),
  };
}

/** A process that has ended meanwhile has none; its CPU time is in its parent's. */
function statOf(pid: string): { pid: number; parent: number; cpuSeconds: number; mb: number }[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    // proc(5): fields 4 (ppid) and 14 to 17 (utime, stime, cutime, cstime), from 1.
    const [parent = 0] = fields.slice(1, 2);
    const cpu = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
    const [, kb = 0] = /RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return [{ pid: Number(pid), parent, cpuSeconds: cpu / ticks, mb: Number(kb) / 1000 }];
  } catch {
    return [];
  }
}

/** The URL of a local server, once it is ready. */
export function urlOf(server: ChildProcess): Promise<string> {
  let output = "";
  return new Promise((resolve, reject) => {
    server.stdout?.on("data", (chunk: Buffer) => {
      if (output.length > 10_000) return;
      output += String(chunk);
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
    server.stderr?.on("data", (chunk: Buffer) => process.stderr.write(chunk));
    server.once("exit", () => reject(new Error(`the local server ended:\n${output}`)));
  });
}
