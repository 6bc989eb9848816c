import { extname } from "node:path";
import { getHeapStatistics } from "node:v8";
import { Worker } from "node:worker_threads";
import type { RunningAttempt, Watchdog } from "../core/ports/tasks.ts";
import { runningTask } from "../core/task/context.ts";

/*
 * The memory that this thread and the watchdog's have together. A text for each running attempt is there, so that the thread knows them when this
 * one is blocked: that costs an attempt one short text, and no message.
 */

/** Attempts that the thread knows, at most, and the bytes of each. Those beyond run as well. */
const [mostKnown, slotBytes] = [1_000, 256];

/** Bytes before the attempts: the deadline, then the state of an exit. */
const headBytes = 16;

/** The exit waits this long for its note, in milliseconds. */
const longestExitMs = 2_000;

/** Share of a memory limit from which the thread takes notes, as there is no time for it later. */
const fullShare = 0.85;

/** Share of it from which the thread looks more often, and loads the code that takes notes. */
const scarceShare = 0.6;

const megabyte = 1024 * 1024;

export interface Witnessed {
  shared: SharedArrayBuffer;
  /** Address of `witness.ts`. */
  witness: string;
  headBytes: number;
  slotBytes: number;
  /** Bytes of memory from which it gets scarce, and from which the process is about to run out; the limit that is meant. */
  scarceBytes: number;
  fullBytes: number;
  limitMb: number;
  limitOf: "heap" | "process";
}

/** What the main thread says of an exit, before it. */
export interface Exit {
  code: number;
  stack: string;
  taskId: string;
}

/**
 * The watchdog's thread. It looks at the deadline twice a second, and more often when the memory gets scarce. Only a process that is about to end
 * loads the code that takes notes (`witness.ts`). It ends the process in any case.
 */
const watcher = `
const { parentPort, receiveMessageOnPort, workerData } = require("node:worker_threads");
const { shared, witness, fullBytes, scarceBytes } = workerData;
const deadline = new BigInt64Array(shared, 0, 1), exit = new Int32Array(shared, 8, 1);
const limit = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const note = (seen, ms) =>
  Promise.race([import(witness).then((code) => code.takeNotes(workerData, seen)).catch(() => {}), limit(ms)]);
let fullAt = 0;
(async () => {
  for (;;) {
    const until = Atomics.load(deadline, 0);
    if (Atomics.load(exit, 0) === 1) {
      await note({ cause: "exited", exit: receiveMessageOnPort(parentPort)?.message }, ${longestExitMs});
      Atomics.store(exit, 0, 2);
      Atomics.notify(exit, 0);
    }
    const used = until === 0n ? 0 : process.memoryUsage.rss();
    if (until !== 0n && BigInt(Date.now()) > until) {
      await note(used > fullBytes ? { cause: "out_of_memory", usedBytes: used } : { cause: "blocked" }, 2_500);
      process.kill(process.pid, "SIGKILL");
    }
    if (used > scarceBytes) await import(witness).catch(() => {});
    if (used > fullBytes && Date.now() - fullAt > 30_000) {
      fullAt = Date.now();
      await note({ cause: "out_of_memory", usedBytes: used }, 5_000);
    }
    Atomics.wait(deadline, 0, until, used > scarceBytes ? 10 : 500);
  }
})();`;

/**
 * Creates a watchdog that kills this process when its event loop is still blocked at an attempt's deadline. Its thread starts with the first
 * attempt. Before the process ends, by it, by \`process.exit\` in a handler or without memory, the thread notes what it was doing.
 */
export function threadWatchdog(): Watchdog {
  const shared = new SharedArrayBuffer(headBytes + mostKnown * slotBytes);
  const deadline = new BigInt64Array(shared, 0, 1);
  const slots = new Slots(shared);
  const guards = new Set<{ untilMs: number }>();
  let started = false;
  const publish = () => {
    const nearest = Math.min(...[...guards].map((guard) => guard.untilMs));
    Atomics.store(deadline, 0, guards.size === 0 ? 0n : BigInt(Math.ceil(nearest)));
  };
  return {
    guard(untilMs, attempt) {
      if (!started) startThread(shared);
      started = true;
      const guard = { untilMs };
      guards.add(guard);
      const free = slots.put(attempt);
      publish();
      return () => {
        guards.delete(guard);
        free();
        publish();
      };
    },
  };
}

function startThread(shared: SharedArrayBuffer): void {
  const workerData: Witnessed = { shared, witness: witnessUrl(), headBytes, slotBytes, ...memoryLimit() };
  const thread = new Worker(watcher, { eval: true, workerData });
  thread.unref();
  process.on("exit", (code) => noteExit(thread, shared, code));
}

/** The code is beside this one: as a source, compiled, or in a bundle. */
const witnessUrl = (): string => new URL(`./witness${extname(import.meta.url)}`, import.meta.url).href;

/** The heap may grow to its limit; all of the process to that of its container or function. */
function memoryLimit(
  env: NodeJS.ProcessEnv = process.env,
): Pick<Witnessed, "scarceBytes" | "fullBytes" | "limitMb" | "limitOf"> {
  const heap = heapLimit(env);
  const besideHeap = process.memoryUsage.rss() - getHeapStatistics().total_heap_size;
  const { AWS_LAMBDA_FUNCTION_MEMORY_SIZE: functionMb } = env;
  const given = functionMb === undefined ? process.constrainedMemory() : Number(functionMb) * megabyte;
  // Without a limit, the answer is 0 or larger than any memory.
  const whole = given > 0 ? given : Number.POSITIVE_INFINITY;
  const at = (share: number) => Math.min(besideHeap + heap * share, whole * share);
  const [limit, limitOf] = at(1) === whole ? ([whole, "process"] as const) : ([heap, "heap"] as const);
  return { scarceBytes: at(scarceShare), fullBytes: at(fullShare), limitMb: Math.round(limit / megabyte), limitOf };
}

/** Bytes that objects can have which live for longer. Node's own figure has room for young ones besides. */
function heapLimit(env: NodeJS.ProcessEnv): number {
  const flags = [...process.execArgv, env.NODE_OPTIONS ?? ""].join(" ");
  const [, mb] = /--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(flags) ?? [];
  return mb === undefined ? getHeapStatistics().heap_size_limit : Number(mb) * megabyte;
}

/** Waits until the watchdog's thread has noted that a handler ends this process. */
function noteExit(thread: Worker, shared: SharedArrayBuffer, code: number): void {
  const taskId = runningTask()?.taskId;
  if (taskId === undefined) return;
  const place = { stack: "" };
  // Of the code that called it, without Node's own. Empty: nobody did.
  Error.captureStackTrace(place, process.exit);
  thread.postMessage({ code, stack: place.stack, taskId } satisfies Exit);
  const state = new Int32Array(shared, 8, 1);
  Atomics.store(state, 0, 1);
  Atomics.notify(new BigInt64Array(shared, 0, 1), 0);
  Atomics.wait(state, 0, 1, longestExitMs + 500);
}

/** The running attempts in the shared memory. */
class Slots {
  readonly #bytes: Uint8Array;
  readonly #free: number[] = [];
  readonly #encoder = new TextEncoder();
  #used = 0;

  constructor(shared: SharedArrayBuffer) {
    this.#bytes = new Uint8Array(shared, headBytes);
  }

  put({ tenant_id, task_id, attempts_total }: RunningAttempt): () => void {
    const slot = this.#free.pop() ?? this.#used++;
    if (slot >= mostKnown) return () => this.#free.push(slot);
    const bytes = this.#bytes.subarray(slot * slotBytes, (slot + 1) * slotBytes);
    // A first byte of 0 marks a slot without an attempt, also one that does not fit.
    const { written } = this.#encoder.encodeInto(`${JSON.stringify([tenant_id, task_id, attempts_total])}\n`, bytes);
    if (bytes[written - 1] !== 10) bytes[0] = 0;
    return () => {
      bytes[0] = 0;
      this.#free.push(slot);
    };
  }
}
