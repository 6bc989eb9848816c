import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createClient, type TaskView } from "offload/client";

const root = new URL("../", import.meta.url);
const token = "demo";

/** Time limit of each step. */
const stepTimeoutMs = 60_000;

/** Shorter than the API's `Retry-After`, so that the progress moves. */
const pollMs = 150;

/**
 * Starts a local server on free ports, submits a sample order over HTTP, shows the progress while polling, writes the
 * invoice to a file and prints next steps. Returns the exit code.
 */
async function demo(): Promise<number> {
  const say = (line = "") => process.stdout.write(`${line}\n`);
  say("Offload demo: one order in, one invoice out.\n");
  const server = await startServer();
  try {
    say(`  1. A local server is running, with the API at ${server.url}`);
    const order: unknown = JSON.parse(await readFile(new URL("examples/order.json", root), "utf8"));
    const client = createClient({ url: server.url, key: token });
    const task = await client.submit("invoice.generate", order);
    say(`  2. POST /tasks answered 202 Accepted; poll ${task.poll_url}`);
    const end = await drawProgress(client.progress(task, { pollMs, timeoutMs: stepTimeoutMs }));
    if (end?.status !== "completed") {
      say(`\nThe task is ${end?.status}: ${end?.error}`);
      return 1;
    }
    const invoice = (await client.result(task, { timeoutMs: stepTimeoutMs })) as File;
    const path = invoice.name.replaceAll(/[^A-Za-z0-9._-]/g, "_");
    await writeFile(path, invoice.stream());
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

/** Draws each state: a terminal gets one redrawn line, other output a line per change. Returns the task at its end. */
async function drawProgress(states: AsyncIterable<TaskView>): Promise<TaskView | undefined> {
  let drawn = "";
  let last: TaskView | undefined;
  for await (const task of states) {
    const line = `  3. ${bar(task)} ${task.status}`;
    if (line !== drawn) process.stdout.write(process.stdout.isTTY ? `\r${line.padEnd(70)}` : `${line}\n`);
    drawn = line;
    last = task;
  }
  if (process.stdout.isTTY) process.stdout.write("\n");
  return last;
}

function bar(task: TaskView): string {
  const percent = task.progress ?? 0;
  const filled = Math.round((percent / 100) * 30);
  return `[${"#".repeat(filled)}${".".repeat(30 - filled)}] ${String(percent).padStart(3)} %`;
}

process.exitCode = await demo();
