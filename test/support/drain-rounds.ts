import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskView } from "../../src/core/model/task-view.ts";
import { seededRandom } from "../chaos/random.ts";
import { type ContainerWorker, childrenOf, startContainerWorker } from "./container-worker.ts";
import { startOwnServer } from "./local-server.ts";

/** A container type with the shortest lease, 17 s, so that a dead worker is noticed soon. */
const taskFile = `
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask } from "offload";
import * as z from "zod";
export default defineTask({
  name: "wait.a.bit",
  runsOn: "container",
  input: z.object({ ms: z.number(), stubborn: z.boolean() }),
  timeoutSeconds: 1,
  maxAttempts: 20,
  handler: async ({ ms, stubborn }, task) => {
    await sleep(ms, undefined, stubborn ? {} : { signal: task.signal });
  },
});
`;

const tasksOfRound = 12;
const headers = { authorization: "Bearer dev-acme", "content-type": "application/json" };

export interface DrainReport {
  tasks: number;
  completed: number;
  /** Views of tasks that have not completed. */
  others: TaskView[];
  /** Rounds whose worker did not end with exit code 0 after SIGTERM. */
  badExits: number;
}

/**
 * Starts and ends workers under load, by SIGTERM or SIGKILL at random times: of the worker or of one of its processes. Then one worker
 * finishes the rest. Every task must complete.
 */
export async function drainRounds(rounds: number, seed: number): Promise<DrainReport> {
  const folder = projectFolder();
  const env = { OFFLOAD_TASKS: join(folder, "tasks") };
  const server = await startOwnServer({ ...env, OFFLOAD_CONTAINER_CONCURRENCY: "0" });
  const random = seededRandom(seed);
  const ids: string[] = [];
  let badExits = 0;
  const workers: ContainerWorker[] = [];
  const start = () => {
    const worker = startContainerWorker(server.url, ["--concurrency", "8", "--drain-seconds", "1"], env);
    workers.push(worker);
    return worker;
  };
  try {
    for (let round = 0; round < rounds; round++) {
      ids.push(...(await submit(server.url, random)));
      const worker = start();
      await sleep(1_000 + random() * 2_000);
      if (!(await endWorker(worker, random))) badExits += 1;
    }
    const last = start();
    const views = await untilEnded(server.url, ids);
    last.child.kill("SIGTERM");
    if ((await last.ended) !== 0) badExits += 1;
    const others = views.filter(({ status }) => status !== "completed");
    return { tasks: ids.length, completed: ids.length - others.length, others, badExits };
  } finally {
    for (const { child } of workers) child.kill("SIGKILL");
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function projectFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "offload-drain-"));
  mkdirSync(join(folder, "tasks"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tasks/wait.a.bit.ts"), taskFile);
  return folder;
}

async function submit(url: string, random: () => number): Promise<string[]> {
  const priorities = ["critical", "high", "normal", "low"];
  const tasks = Array.from({ length: tasksOfRound }, () => ({
    type: "wait.a.bit",
    priority: priorities[Math.floor(random() * 4)],
    input: { ms: Math.floor(random() * 600), stubborn: random() < 0.5 },
  }));
  const response = await fetch(`${url}/tasks/batch`, { method: "POST", headers, body: JSON.stringify({ tasks }) });
  const accepted = (await response.json()) as { tasks: { task_id: string }[] };
  return accepted.tasks.map(({ task_id }) => task_id);
}

/** Ends a worker at random. Returns false when it should have ended cleanly, and did not. */
async function endWorker({ child, ended, output }: ContainerWorker, random: () => number): Promise<boolean> {
  const dice = random();
  if (dice < 0.3) {
    const [victim] = childrenOf(child.pid);
    if (victim !== undefined) process.kill(victim, "SIGKILL");
    await sleep(random() * 1_000);
  }
  if (dice > 0.7) {
    child.kill("SIGKILL");
    await ended;
    return true;
  }
  child.kill("SIGTERM");
  const how = await ended;
  const hadStarted = output().includes("the worker starts");
  const clean = how === 0 || dice < 0.3 || (how === "SIGTERM" && !hadStarted);
  // A process that was killed while it stopped has lost its attempts.
  if (!clean) console.log(`exit ${how}:\n${output()}`);
  return clean;
}

/** The views of all tasks, when each has ended, or after 240 s. */
async function untilEnded(url: string, ids: readonly string[]): Promise<TaskView[]> {
  const untilMs = Date.now() + 240_000;
  const views: TaskView[] = [];
  for (const id of ids) {
    const read = async () => (await (await fetch(`${url}/tasks/${id}`, { headers })).json()) as TaskView;
    let view = await read();
    while (!["completed", "failed"].includes(view.status) && Date.now() < untilMs) {
      await sleep(500);
      view = await read();
    }
    views.push(view);
  }
  return views;
}
