import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { workerTimeoutSeconds } from "../config.ts";
import type { Reply } from "./worker-process.ts";

/** The heap of a worker process, as a Lambda function of 512 MB would have it. */
const heapMb = 384;

/** A process without work is ended after this long, but for the last one of its tier. */
const idleMs = 20_000;

export interface PoolOptions {
  /** Environment of the processes, beside this process's own. */
  env: Record<string, string>;
  /** The most processes at once. */
  most: number;
  onExit(message: string): void;
}

interface Slot {
  process: ChildProcess;
  ready: boolean;
  busy: boolean;
  idleSince: number;
  /** Ends the invocation that runs. */
  finish?: ((answer: SQSBatchResponse | Error) => void) | undefined;
}

/**
 * The execution environments of one worker function: processes that take one batch at a time, and that may die without
 * anybody else noticing.
 */
export class WorkerPool {
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #reaper: NodeJS.Timeout;
  #waiting: (() => void)[] = [];
  #nextId = 1;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#reaper = setInterval(() => this.#reap(), 5_000).unref();
  }

  /** Starts a process ahead of the first batch. */
  warm(): void {
    if (this.#slots.size === 0) this.#spawn();
  }

  /** Resolves when a process is free; starts another one when all are busy for a moment. */
  async free(): Promise<void> {
    while (!this.#closed && this.#idle() === undefined) {
      const starting = [...this.#slots].some((slot) => !slot.ready);
      const grow = starting || this.#slots.size >= this.#options.most ? undefined : this.#growSoon();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
      clearTimeout(grow);
    }
  }

  /** Invokes a free process; rejects when it dies or outlives the function's time-out. Call `free` first. */
  invoke(event: SQSEvent): Promise<SQSBatchResponse> {
    const slot = this.#idle();
    if (slot === undefined) return Promise.reject(new Error("no worker process is free"));
    slot.busy = true;
    const id = this.#nextId++;
    const deadlineMs = Date.now() + workerTimeoutSeconds * 1000;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => slot.process.kill("SIGKILL"), workerTimeoutSeconds * 1000).unref();
      slot.finish = (answer) => {
        clearTimeout(timer);
        slot.finish = undefined;
        slot.busy = false;
        slot.idleSince = Date.now();
        answer instanceof Error ? reject(answer) : resolve(answer);
        this.#wake();
      };
      slot.process.send({ id, event, deadlineMs });
    });
  }

  /** Whether a batch is being worked on. */
  get busy(): boolean {
    return [...this.#slots].some((slot) => slot.busy);
  }

  /** Process ids, for tests that end them. */
  get pids(): number[] {
    return [...this.#slots].flatMap((slot) => slot.process.pid ?? []);
  }

  /** Ends every process at once. */
  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#reaper);
    const exits = [...this.#slots].map((slot) => once(slot.process, "exit"));
    for (const slot of this.#slots) slot.process.kill("SIGKILL");
    this.#wake();
    await Promise.all(exits);
  }

  #idle(): Slot | undefined {
    return [...this.#slots].find((slot) => slot.ready && !slot.busy);
  }

  #growSoon(): NodeJS.Timeout {
    return setTimeout(() => this.#spawn(), this.#slots.size === 0 ? 0 : 150);
  }

  #spawn(): void {
    if (this.#closed) return;
    const child = fork(fileURLToPath(new URL("./worker-process.ts", import.meta.url)), {
      env: { ...process.env, ...this.#options.env },
      execArgv: [`--max-old-space-size=${heapMb}`, "--enable-source-maps"],
      stdio: ["ignore", "inherit", "pipe", "ipc"],
      serialization: "json",
    });
    const slot: Slot = { process: child, ready: false, busy: false, idleSince: Date.now() };
    this.#slots.add(slot);
    const lastWords = keepTail(child);
    child.on("message", (message: Reply) => this.#onMessage(slot, message));
    child.on("error", (error) => slot.finish?.(error));
    child.on("exit", (code, signal) => {
      this.#slots.delete(slot);
      const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
      if (!this.#closed && slot.busy) this.#options.onExit(`a worker process died (${how})${lastWords()}`);
      if (!this.#closed && !slot.ready) this.#options.onExit(`a worker process did not start (${how})${lastWords()}`);
      slot.finish?.(new Error(`the worker process died: ${how}`));
      setTimeout(() => this.#wake(), slot.ready ? 0 : 1_000).unref();
    });
  }

  #onMessage(slot: Slot, message: Reply): void {
    if (message.kind === "ready") {
      slot.ready = true;
      this.#wake();
    } else if (message.kind === "answer") {
      slot.finish?.(message.response);
    } else {
      slot.finish?.(new Error(message.error));
    }
  }

  #reap(): void {
    const idle = [...this.#slots].filter((slot) => slot.ready && !slot.busy && Date.now() - slot.idleSince > idleMs);
    for (const slot of idle.slice(0, Math.max(0, Math.min(idle.length, this.#slots.size - 1)))) slot.process.kill();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Hands on what a process writes to its error output, and keeps the end of it, to say why the process died. */
function keepTail(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    process.stderr.write(chunk);
    tail = (tail + chunk.toString("utf8")).slice(-8_000);
  });
  return () => {
    const reason = deathReason(tail);
    return reason === undefined ? "" : `: ${reason}`;
  };
}

/** The line that says why Node ended a process: after the source line that threw, before the stack. Undefined: there is none. */
export function deathReason(errorOutput: string): string | undefined {
  const lines = errorOutput.split("\n");
  const line =
    lines.findLast((text) => /^(FATAL ERROR\b|(Uncaught )?[\w.$]*(Error|Exception)\b)/.test(text)) ??
    lines.find((text) => /error|fatal/i.test(text));
  return line?.trim().slice(0, 300);
}
