import { extname } from "node:path";
import { getHeapStatistics } from "node:v8";
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { Exit, Witnessed } from "./watchdog.ts";
import type { Seen } from "./witness.ts";

/*
 * The watchdog's thread (`watchdog.ts`). It looks at the deadline twice a second, and more often when the memory gets
 * scarce. Only a process that is about to end loads the code that takes notes (`witness.ts`). It ends the process in
 * any case.
 */

const { shared, longestExitMs, besideHeapBytes } = workerData as Witnessed;
const deadline = new BigInt64Array(shared, 0, 1);
const exit = new Int32Array(shared, 8, 1);

/** A blocked process may be looked at for this long, in milliseconds. */
const longestLookMs = 2_500;

/** The same for a process that is about to run out of memory. The process goes on meanwhile. */
const longestFullMs = 5_000;

/** Of a process whose memory stays full, notes are taken again after this time, in milliseconds. */
const fullAgainMs = 30_000;

/**
 * Shares of a memory limit from which the thread looks more often, and from which it takes notes, as there is no time
 * for it later.
 */
const [scarceShare, fullShare] = [0.6, 0.85];

const megabyte = 1024 * 1024;

/** The heap may grow to its limit; all of the process to that of its container or function. */
function memoryLimit(env: NodeJS.ProcessEnv = process.env) {
  const heap = heapLimit(env);
  const { AWS_LAMBDA_FUNCTION_MEMORY_SIZE: functionMb } = env;
  const given = functionMb === undefined ? process.constrainedMemory() : Number(functionMb) * megabyte;
  // Without a limit, the answer is 0 or larger than any memory.
  const whole = given > 0 ? given : Number.POSITIVE_INFINITY;
  const at = (share: number) => Math.min(besideHeapBytes + heap * share, whole * share);
  const [limit, limitOf] = at(1) === whole ? ([whole, "process"] as const) : ([heap, "heap"] as const);
  return { scarceBytes: at(scarceShare), fullBytes: at(fullShare), limitMb: Math.round(limit / megabyte), limitOf };
}

/**
 * Bytes that objects of the main thread can have which live for longer. Node's own figure has room for young ones
 * besides.
 */
function heapLimit(env: NodeJS.ProcessEnv): number {
  const flags = [...process.execArgv, env.NODE_OPTIONS ?? ""].join(" ");
  const [, mb] = /--max[-_]old[-_]space[-_]size[= ](\d+)/.exec(flags) ?? [];
  return mb === undefined ? getHeapStatistics().heap_size_limit : Number(mb) * megabyte;
}

const { scarceBytes, fullBytes, ...limit } = memoryLimit();

/** The code is beside this one: as a source, compiled, or in a bundle. */
const witness = (): Promise<typeof import("./witness.ts")> =>
  import(new URL(`./witness${extname(import.meta.url)}`, import.meta.url).href);

async function note(seen: Seen, ms: number): Promise<void> {
  const noted = witness()
    .then(({ takeNotes }) => takeNotes({ shared, ...limit }, seen))
    // Without a note nobody knows why the process ended, as before.
    .catch(() => {});
  await Promise.race([noted, new Promise((resolve) => setTimeout(resolve, ms))]);
}

/** Takes notes for a main thread that waits with its exit. */
async function noteExit(port: MessagePort): Promise<void> {
  if (Atomics.load(exit, 0) !== 1) return;
  await note({ cause: "exited", exit: receiveMessageOnPort(port)?.message as Exit | undefined }, longestExitMs);
  Atomics.store(exit, 0, 2);
  Atomics.notify(exit, 0);
}

let fullAtMs = 0;

async function noteMemory(usedBytes: number): Promise<void> {
  if (usedBytes > scarceBytes) await witness().catch(() => {});
  if (usedBytes <= fullBytes || Date.now() - fullAtMs < fullAgainMs) return;
  fullAtMs = Date.now();
  await note({ cause: "out_of_memory", usedBytes }, longestFullMs);
}

async function watch(port: MessagePort): Promise<never> {
  for (;;) {
    const until = Atomics.load(deadline, 0);
    await noteExit(port);
    const usedBytes = until === 0n ? 0 : process.memoryUsage.rss();
    if (until !== 0n && BigInt(Date.now()) > until) {
      const isFull = usedBytes > fullBytes;
      await note(isFull ? { cause: "out_of_memory", usedBytes } : { cause: "blocked" }, longestLookMs);
      process.kill(process.pid, "SIGKILL");
    }
    await noteMemory(usedBytes);
    Atomics.wait(deadline, 0, until, usedBytes > scarceBytes ? 10 : 500);
  }
}

if (parentPort !== null) void watch(parentPort);
