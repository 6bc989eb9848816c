import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";

/** A process of `offload work`. */
export interface ContainerWorker {
  child: ChildProcess;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
  output(): string;
}

/** Starts `offload work` for the local server with this URL. */
export function startContainerWorker(
  url: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): ContainerWorker {
  const child = spawn(process.execPath, ["bin/offload.js", "work", "--local", "--url", url, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  const ended = once(child, "exit").then(([code, signal]) => (code ?? signal) as number | string);
  return { child, ended, output: () => output };
}

/** State letter and parent of a process. Undefined: there is no such process. */
function statOf(pid: string): { state: string; parent: string } | undefined {
  try {
    const [state = "", parent = ""] = (readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1] ?? "").split(" ");
    return { state, parent };
  } catch {
    return undefined;
  }
}

/** Ids of the processes that a process has started. Reads /proc, so it needs Linux. */
export const childrenOf = (pid: number | undefined): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && statOf(name)?.parent === String(pid))
    .map(Number);

/** False also for a process that has ended and that nobody has waited for. */
export const isAlive = (pid: number): boolean => ![undefined, "Z"].includes(statOf(String(pid))?.state);
