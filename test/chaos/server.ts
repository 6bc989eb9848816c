import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** The local server in a process of its own, always on the same ports and state, to be killed and started again. */
export class VictimServer {
  readonly #stateDir: string;
  readonly #ports: { api: number; table: number; queues: number };
  #child: ChildProcess | undefined;

  private constructor(stateDir: string, ports: { api: number; table: number; queues: number }) {
    this.#stateDir = stateDir;
    this.#ports = ports;
  }

  static async prepare(stateDir: string): Promise<VictimServer> {
    const [api, table, queues] = [await freePort(), await freePort(), await freePort()];
    return new VictimServer(stateDir, { api, table, queues });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  /** Resolves when the server takes requests. */
  async start(): Promise<void> {
    const child = fork("bin/offload.ts", ["start"], {
      env: {
        ...process.env,
        PORT: String(this.#ports.api),
        OFFLOAD_DYNAMODB_PORT: String(this.#ports.table),
        OFFLOAD_SQS_PORT: String(this.#ports.queues),
        OFFLOAD_STATE_DIR: this.#stateDir,
        OFFLOAD_TIME_SCALE: "0.01",
      },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child = child;
    const died = once(child, "exit").then(() => {
      throw new Error("the server did not start");
    });
    await Promise.race([once(child, "message"), died]);
    died.catch(() => undefined);
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
    const pid = this.#child?.pid;
    if (pid === undefined) return [];
    try {
      const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
      const pairs = lines.map((line) => line.trim().split(/\s+/).map(Number));
      return pairs.flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
    } catch {
      return [];
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  }
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
