import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** A local server of a benchmark's own, on free ports, that keeps nothing. */
export interface Local {
  /** The server's process. */
  pid: number;
  /** Submits a task and gives its id. */
  submit(type: string, input: object, where: Placing): Promise<string>;
  /** Waits until tasks have started, and gives when each could start and did, in seconds, in the order of their ids. */
  starts(taskIds: readonly string[], where?: Pick<Placing, "delaySeconds">): Promise<Start[]>;
  /** The times at which the tasks have ended, in epoch seconds. */
  ends(taskIds: readonly string[]): Promise<number[]>;
  stop(): Promise<void>;
}

/** Where a task goes, and how much later than its submit it may start. Default: at once. */
interface Placing {
  priority: string;
  delaySeconds?: number;
}

export interface Start {
  /** When it was submitted, and its delay was over. */
  cameAt: number;
  startedAt: number;
}

interface Task {
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
}

const token = "bench";
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

export async function startLocal(): Promise<Local> {
  const env = {
    ...process.env,
    ...{ PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" },
    OFFLOAD_KEYS: `${token}:bench:operator`,
  };
  const child = fork("bin/offload.js", ["start", "--ephemeral"], {
    env,
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const [message] = await Promise.race([once(child, "message"), exited.then(() => [undefined])]);
  if (message === undefined) throw new Error("the local server did not start");
  const { url } = message as { url: string };
  return {
    pid: child.pid ?? 0,
    submit: async (type, input, { priority, delaySeconds: delay_seconds = 0 }) => {
      const { task_id } = await call<{ task_id: string }>(url, "POST", "/tasks", {
        ...{ type, input, priority, delay_seconds },
      });
      return task_id;
    },
    starts: (taskIds, { delaySeconds = 0 } = {}) =>
      Promise.all(taskIds.map((taskId) => startOf(url, taskId, delaySeconds))),
    ends: (taskIds) => Promise.all(taskIds.map((taskId) => endOf(url, taskId))),
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

async function startOf(url: string, taskId: string, delaySeconds: number): Promise<Start> {
  const { created_at, started_at } = await taskWith(url, taskId, "started_at");
  return { cameAt: secondsOf(created_at) + delaySeconds, startedAt: secondsOf(started_at) };
}

const endOf = async (url: string, taskId: string): Promise<number> =>
  secondsOf((await taskWith(url, taskId, "finished_at")).finished_at);

/** Reads a task until it has a time. Who asks may hear of it half a second later. */
async function taskWith(url: string, taskId: string, time: "started_at" | "finished_at"): Promise<Task> {
  for (;;) {
    const task = await call<Task>(url, "GET", `/tasks/${taskId}`);
    if (task[time] !== null) return task;
    await sleep(500);
  }
}

const secondsOf = (time: string | null): number => Date.parse(time ?? "") / 1000;

function call<Answer>(base: string, method: string, path: string, body?: object): Promise<Answer> {
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": text.length,
  };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, base), { method, agent, headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const answer = Buffer.concat(chunks).toString("utf8");
      if ((response.statusCode ?? 500) < 300) resolve(JSON.parse(answer) as Answer);
      else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${answer}`));
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

/** Submits many tasks, so many at the same time. */
export async function submitMany(
  local: Local,
  inputs: readonly object[],
  { atOnce = 12, ...where }: Placing & { atOnce?: number },
): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < inputs.length; index = next++) {
      ids[index] = await local.submit("probe.sleep", inputs[index] ?? {}, where);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return ids;
}

/** The value that a share of all does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
