import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);
const token = "demo";

/** Time limit of each step. */
const stepTimeoutMs = 60_000;

/** Fields of a task that the demo reads. */
interface Task {
  task_id: string;
  status: string;
  progress: number | null;
  result_url: string | null;
  error: string | null;
}

/**
 * Starts a local server on free ports, submits a sample order over HTTP, shows the progress while polling, writes the
 * invoice to a file and prints next steps. Returns the exit code.
 */
export async function demo(): Promise<number> {
  const say = (line = "") => process.stdout.write(`${line}\n`);
  say("Offload demo: one order in, one invoice out.\n");
  const server = await startServer();
  try {
    say(`  1. A local server is running, with the API at ${server.url}`);
    const order: unknown = JSON.parse(await readFile(new URL("examples/order.json", root), "utf8"));
    const accepted = await call(server.url, "/tasks", { type: "invoice.generate", input: order });
    say(`  2. POST /tasks answered 202 Accepted; poll ${String(accepted.poll_url)}`);
    const task = await poll(server.url, String(accepted.poll_url));
    if (task.status !== "completed" || task.result_url === null) {
      say(`\nThe task is ${task.status}: ${task.error}`);
      return 1;
    }
    const response = await fetch(server.url + task.result_url, { headers: { authorization: `Bearer ${token}` } });
    const path = fileNameOf(response);
    await writeFile(path, Buffer.from(await response.arrayBuffer()));
    say(`  4. The invoice is in ./${path}`);
    say(nextSteps);
    return 0;
  } finally {
    server.stop();
    await server.stopped;
  }
}

const nextSteps = `
Try next:
  npm start                          start a local server on http://127.0.0.1:3000
  tasks/invoice.generate.ts          read the code of this task type
  README.md                          write your own task type and deploy it
`;

interface RunningServer {
  url: string;
  stop(): void;
  stopped: Promise<unknown>;
}

/** Starts the local server in its own process, without saved data. */
async function startServer(): Promise<RunningServer> {
  const child = fork(fileURLToPath(new URL("bin/offload.js", root)), ["start", "--ephemeral"], {
    env: {
      ...process.env,
      PORT: "0",
      OFFLOAD_DYNAMODB_PORT: "0",
      OFFLOAD_SQS_PORT: "0",
      OFFLOAD_KEYS: `${token}:demo:operator`,
    },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const stopped = once(child, "exit");
  const ready = once(child, "message").then(([message]) => (message as { url: string }).url);
  const url = await Promise.race([ready, stopped.then(() => undefined)]);
  if (url === undefined) throw new Error("the local server did not start");
  return { url, stop: () => child.kill("SIGTERM"), stopped };
}

async function call(url: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(stepTimeoutMs),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${String(answer.detail)}`);
  return answer;
}

/** Polls until the task has ended, and draws its progress: a terminal gets one redrawn line, other output a line per change. */
async function poll(url: string, pollUrl: string): Promise<Task> {
  const giveUpAt = Date.now() + stepTimeoutMs;
  let drawn = "";
  for (;;) {
    const task = (await call(url, pollUrl)) as unknown as Task;
    const line = `  3. ${bar(task)} ${task.status}`;
    if (line !== drawn) process.stdout.write(process.stdout.isTTY ? `\r${line.padEnd(70)}` : `${line}\n`);
    drawn = line;
    const ended = !["pending", "processing", "scheduled"].includes(task.status);
    if (ended && process.stdout.isTTY) process.stdout.write("\n");
    if (ended) return task;
    if (Date.now() > giveUpAt) throw new Error(`the task is still ${task.status} after ${stepTimeoutMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}

function bar(task: Task): string {
  const percent = task.progress ?? 0;
  const filled = Math.round((percent / 100) * 30);
  return `[${"#".repeat(filled)}${".".repeat(30 - filled)}] ${String(percent).padStart(3)} %`;
}

/** File name from the response, with unsafe characters replaced. */
function fileNameOf(response: Response): string {
  const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "invoice.pdf";
  return name.replaceAll(/[^A-Za-z0-9._-]/g, "_");
}
