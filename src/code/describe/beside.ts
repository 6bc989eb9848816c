import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

/** The end of a process. */
interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

interface BesideOptions {
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  /** Longest time in milliseconds. The process is killed then. */
  readonly limitMs: number;
}

/** A thread waits for the process: this one cannot learn of its end while its own code runs. */
const waiter = `
const { spawnSync } = require("node:child_process");
const { workerData } = require("node:worker_threads");
const { file, args, options, port, done } = workerData;
try {
  const { status, signal, stderr, error } = spawnSync(file, args, options);
  port.postMessage({ status, signal, stderr: stderr || String(error || "") });
} finally {
  Atomics.store(done, 0, 1);
  Atomics.notify(done, 0);
}`;

/** Time for the thread itself, in milliseconds. */
const threadMs = 30_000;

/**
 * Starts Node beside this process, for a caller that must not wait with promises, as a construct's constructor must
 * not. It costs the start of a thread, some 40 ms of a core.
 * @returns A function that waits for its end.
 */
export function startBeside(args: readonly string[], { cwd, env, limitMs }: BesideOptions): () => Ended {
  const done = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const options = {
    ...{ cwd, env: { ...env }, encoding: "utf8", timeout: limitMs, killSignal: "SIGKILL" },
    stdio: ["ignore", "ignore", "pipe"],
  };
  const thread = new Worker(waiter, {
    eval: true,
    env: {},
    execArgv: [],
    workerData: { file: process.execPath, args, options, port: port2, done },
    transferList: [port2],
  });
  thread.unref();
  port1.unref();
  return () => {
    Atomics.wait(done, 0, 0, limitMs + threadMs);
    const answer = receiveMessageOnPort(port1) as { message: Ended } | undefined;
    port1.close();
    return answer?.message ?? { status: null, signal: "SIGKILL", stderr: "" };
  };
}
