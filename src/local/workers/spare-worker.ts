import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { answerIn, type CodeToDescribe, limitMs, resultPlace } from "../../code/describe/describe.ts";
import type { DescribedCode } from "../../code/describe/describe-code.ts";
import { spareVariable } from "./local-code.ts";
import { forkWorker } from "./worker-fork.ts";
import type { Load, Reply } from "./worker-process.ts";

/**
 * Time after which the next process is started, in milliseconds: the workers that start then have the machine before
 * it.
 */
const pauseMs = 1_000;

interface Loaded {
  readonly file: string;
  readonly child: ChildProcess;
}

/**
 * A worker process that has started before there is code for it: most of a reload would be the start of processes. It
 * loads changed code, describes it, and becomes a worker if the server takes the code.
 */
export class SpareWorker {
  #waiting: ChildProcess | undefined;
  #loaded: Loaded | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** Starts the next process soon. */
  prepare(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (!this.#closed) this.#waiting ??= this.#fork();
    }, pauseMs).unref();
  }

  /** Loads code into the process that waits, and describes it. @throws TaskFileError when that process ends */
  async describe(code: CodeToDescribe): Promise<DescribedCode> {
    using place = resultPlace();
    this.#loaded?.child.kill("SIGKILL");
    const child = this.#waiting ?? this.#fork();
    this.#waiting = undefined;
    this.#loaded = { file: code.file, child };
    let said = "";
    const hear = (text: Buffer) => {
      said += text.toString();
    };
    child.stderr?.on("data", hear);
    const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
    const ended = new AbortController();
    child.send({ load: { ...code, result: place.file }, shell: process.env } satisfies Load);
    const reason = await Promise.race([
      loadedIn(child, ended.signal),
      once(child, "close", { signal: ended.signal }).then(([exit, by]) => String(by ?? exit)),
    ]).finally(() => {
      clearTimeout(timer);
      ended.abort();
      child.stderr?.off("data", hear);
    });
    return answerIn(place.file, reason, said);
  }

  /** The process that has loaded this code: it is the caller's now. Undefined: there is none, or it has ended. */
  take(file: string): ChildProcess | undefined {
    const { file: loaded, child } = this.#loaded ?? {};
    if (loaded !== file || child?.connected !== true) return undefined;
    this.#loaded = undefined;
    return child;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#waiting?.kill("SIGKILL");
    this.#loaded?.child.kill("SIGKILL");
  }

  #fork(): ChildProcess {
    const child = forkWorker({ env: { [spareVariable]: "1" } });
    child.on("error", () => child.kill("SIGKILL"));
    child.once("exit", () => {
      if (this.#waiting === child) this.#waiting = undefined;
    });
    return child;
  }
}

/** Resolves when a process has loaded the code. */
async function loadedIn(child: ChildProcess, signal: AbortSignal): Promise<string> {
  for (;;) {
    const [reply] = (await once(child, "message", { signal })) as [Reply];
    if (reply.kind === "loaded") return "0";
  }
}
