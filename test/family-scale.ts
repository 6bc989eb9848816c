import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { columns } from "../src/machine/columns.ts";
import { type Usage, urlOf, usageOf } from "./support/process-usage.ts";

/*
 * npm run test:families -- [numbers of children]
 * Runs families of growing size on a local server of its own, one after the other, and compares CPU time per child and memory.
 * CPU time, as the wall time of a busy machine says little. Reads /proc, so it needs Linux. Default: 1000 10000 100000, about 20 minutes.
 */

/** CPU time per child may differ by this factor between the smallest and the largest family. */
const mostRatio = 1.2;

interface Report extends Usage {
  children: number;
  seconds: number;
}

async function main(numbers: readonly number[]): Promise<number> {
  const ports = { PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  const folder = mkdtempSync(join(tmpdir(), "offload-families-"));
  const env = { ...process.env, ...ports, OFFLOAD_STATE_DIR: folder };
  const server = fork("bin/offload.js", ["start"], { env, silent: true });
  try {
    const url = await urlOf(server);
    // The first family starts the workers, and lets the compiler warm up.
    await run(url, server, 3_000);
    const reports: Report[] = [];
    for (const children of numbers) {
      const report = await run(url, server, children);
      reports.push(report);
      console.log(`${children} children: ${report.seconds.toFixed(0)} s`);
    }
    console.log(tableOf(reports));
    const costs = reports.map(({ cpuSeconds, children }) => cpuSeconds / children);
    const ratio = Math.max(...costs) / Math.min(...costs);
    console.log(`CPU time per child: largest to smallest ${ratio.toFixed(2)}, expected at most ${mostRatio}`);
    return ratio <= mostRatio ? 0 : 1;
  } finally {
    server.kill("SIGTERM");
    await once(server, "exit");
    rmSync(folder, { recursive: true });
  }
}

async function run(url: string, server: ChildProcess, children: number): Promise<Report> {
  const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };
  const began = Date.now();
  const before = usageOf(server.pid ?? 0);
  const body = JSON.stringify({ type: "probe.fanout", input: { children, fail_every: 27, threshold: 0.95 } });
  const accepted = await fetch(`${url}/tasks`, { method: "POST", headers, body });
  const { task_id } = (await accepted.json()) as { task_id: string };
  let [serverMb, workerMb] = [0, 0];
  for (;;) {
    await sleep(500);
    const now = usageOf(server.pid ?? 0);
    serverMb = Math.max(serverMb, now.serverMb);
    workerMb = Math.max(workerMb, now.workerMb);
    const answer = await fetch(`${url}/tasks/${task_id}`, { headers });
    const task = (await answer.json()) as { status: string; result: unknown };
    if (["pending", "processing"].includes(task.status)) continue;
    check(task, children);
    const cpuSeconds = now.cpuSeconds - before.cpuSeconds;
    return { children, seconds: (Date.now() - began) / 1000, cpuSeconds, serverMb, workerMb };
  }
}

/** @throws Error when the counts or the sum of the results are not exact */
function check({ status, result }: { status: string; result: unknown }, children: number): void {
  const failed = Math.floor(children / 27);
  const all = (children * (children + 1)) / 2;
  const expected = {
    total: children,
    completed: children - failed,
    failed,
    sum: all - (27 * failed * (failed + 1)) / 2,
  };
  if (status === "completed" && JSON.stringify(result) === JSON.stringify(expected)) return;
  throw new Error(`${status} with ${JSON.stringify(result)}, expected ${JSON.stringify(expected)}`);
}

const tableOf = (reports: readonly Report[]): string =>
  columns([
    ["children", "wall s", "children/s", "CPU ms per child", "server MB", "largest worker MB"],
    ...reports.map(({ children, seconds, cpuSeconds, serverMb, workerMb }) => [
      String(children),
      seconds.toFixed(1),
      (children / seconds).toFixed(0),
      ((cpuSeconds * 1000) / children).toFixed(2),
      serverMb.toFixed(0),
      workerMb.toFixed(0),
    ]),
  ]);

const sizes = process.argv.slice(2).map(Number);
process.exitCode = await main(sizes.length > 0 ? sizes : [1_000, 10_000, 100_000]);
