import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { RunningAttempt, Watchdog } from "../core/ports/tasks.ts";
import { runningTask } from "../core/task/ambient.ts";

/*
 * The memory that this thread and the watchdog's have together. A text for each running attempt is there, so that the
 * thread knows them when this one is blocked: that costs an attempt one short text, and no message.
 */

/** Attempts that the thread knows, at most. Further attempts run as well. */
const maxKnown = 1_000;

/** Bytes of each attempt in the memory. */
export const slotBytes = 256;

/** Bytes before the attempts: the deadline, then the state of an exit. */
export const headBytes = 16;

/** The exit waits this long for its note, in milliseconds. */
const longestExitMs = 2_000;

export interface Witnessed {
  shared: SharedArrayBuffer;
  longestExitMs: number;
  /** Memory of the process besides the heap of its main thread, which that thread alone can tell. */
  besideHeapBytes: number;
}

/** The message of the main thread before it exits. */
export interface Exit {
  code: number;
  stack: string;
  taskId: string;
}

/**
 * Creates a watchdog that kills this process when its event loop is still blocked at an attempt's deadline. Its thread
 * (`watcher.ts`) starts with the first attempt. Before the process ends, by it, by `process.exit` in a handler or
 * without memory, the thread notes what it was doing.
 */
export function threadWatchdog(): Watchdog {
  const shared = new SharedArrayBuffer(headBytes + maxKnown * slotBytes);
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

/** The thread's code is beside this one: as a source, compiled, or in a bundle. */
function startThread(shared: SharedArrayBuffer): void {
  const { rss, heapTotal } = process.memoryUsage();
  const workerData: Witnessed = { shared, longestExitMs, besideHeapBytes: rss - heapTotal };
  const thread = new Worker(new URL(`./watcher${extname(import.meta.url)}`, import.meta.url), { workerData });
  thread.unref();
  process.on("exit", (code) => noteExit(thread, shared, code));
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
    if (slot >= maxKnown) return () => this.#free.push(slot);
    const bytes = this.#bytes.subarray(slot * slotBytes, (slot + 1) * slotBytes);
    // A first byte of 0 marks a slot without an attempt, also when the attempt does not fit.
    const { written } = this.#encoder.encodeInto(`${JSON.stringify([tenant_id, task_id, attempts_total])}\n`, bytes);
    if (bytes[written - 1] !== 10) bytes[0] = 0;
    return () => {
      bytes[0] = 0;
      this.#free.push(slot);
    };
  }
}
