import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Time in which the server must take requests, on a busy machine. */
const startLimitMs = 300_000;

/** The local server in a process of its own, always on the same ports and state, to be killed and started again. */
export class VictimServer {
  readonly stateDir: string;
  readonly #ports: { api: number; table: number; queues: number };
  readonly #env: Readonly<Record<string, string>>;
  readonly #seenWorkers = new Set<number>();
  #child: ChildProcess | undefined;
  #output = "";

  private constructor(
    stateDir: string,
    ports: { api: number; table: number; queues: number },
    env: Readonly<Record<string, string>>,
  ) {
    this.stateDir = stateDir;
    this.#env = env;
    this.#ports = ports;
  }

  /** @param env Variables of the server in addition to its own. */
  static async prepare(stateDir: string, env: Readonly<Record<string, string>> = {}): Promise<VictimServer> {
    const [api, table, queues] = [await freePort(), await freePort(), await freePort()];
    return new VictimServer(stateDir, { api, table, queues }, env);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  /** The last lines of the server's output, over all its starts. */
  get output(): string {
    return this.#output;
  }

  /** Resolves when the server takes requests. */
  async start(): Promise<void> {
    const child = this.#fork();
    const died = once(child, "exit").then(([code]) => {
      throw new Error(`the server did not start (exit code ${code}):\n${this.#output}`);
    });
    const late = new AbortController();
    const tooLate = sleep(startLimitMs, undefined, { signal: late.signal }).then(() => {
      throw new Error(`the server was not ready after ${startLimitMs / 1000} s:\n${this.#output}`);
    });
    tooLate.catch(() => undefined);
    died.catch(() => undefined);
    try {
      await Promise.race([once(child, "message"), died, tooLate]);
    } finally {
      late.abort();
    }
  }

  /** Kills the server, starts it, and kills it again after the given time, ready or not. */
  async killInStart(afterMs: number): Promise<void> {
    await this.kill();
    this.#fork();
    await sleep(afterMs);
    await this.kill();
  }

  /** Asks the server to stop, and kills it after the given time if it has not ended. */
  async killInShutdown(afterMs: number): Promise<void> {
    this.#child?.kill("SIGTERM");
    await sleep(afterMs);
    await this.kill();
  }

  /** Ends the server without a word, as a power cut would. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  /** Process ids of the workers that live now. */
  workers(): number[] {
    const pids = processes().flatMap(({ pid, parent }) => (parent === this.#child?.pid ? [pid] : []));
    for (const pid of pids) this.#seenWorkers.add(pid);
    return pids;
  }

  /** Workers of earlier servers that still live. */
  orphans(): number[] {
    const alive = new Set(processes().flatMap(({ pid, parent }) => (parent === this.#child?.pid ? [] : [pid])));
    for (const pid of this.#seenWorkers) if (!alive.has(pid)) this.#seenWorkers.delete(pid);
    return [...this.#seenWorkers];
  }

  #fork(): ChildProcess {
    const child = fork("bin/offload.js", ["start"], {
      env: {
        ...process.env,
        PORT: String(this.#ports.api),
        OFFLOAD_DYNAMODB_PORT: String(this.#ports.table),
        OFFLOAD_SQS_PORT: String(this.#ports.queues),
        OFFLOAD_STATE_DIR: this.stateDir,
        OFFLOAD_TIME_SCALE: "0.01",
        ...this.#env,
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString()).slice(-20_000);
      });
    }
    this.#child = child;
    return child;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }
}

/** All processes of this machine that have not ended. */
function processes(): { pid: number; parent: number }[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8", timeout: 120_000 })
    .trim()
    .split("\n");
  const rows = lines.map((line) => line.trim().split(/\s+/));
  return rows.flatMap(([pid, parent, state]) =>
    state?.startsWith("Z") ? [] : [{ pid: Number(pid), parent: Number(parent) }],
  );
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  probe.close();
  await once(probe, "close");
  return port;
}
