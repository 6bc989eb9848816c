import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { EventEmitter } from "node:events";
import { createReadStream, readFile } from "node:fs";
import { Agent, createServer, get } from "node:http";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { MessageChannel, Worker } from "node:worker_threads";
import type { TaskContext } from "offload";
import * as z from "zod";

/** Code of handlers that fails where nobody can catch it, and its error. */
export interface Culprit {
  start(task: TaskContext): unknown;
  /** Its error tells this. Default: the text of `stray`. */
  tells?: RegExp;
}

/** Programs that culprits leave behind sleep for this time, in seconds: no other program does. */
export const leftSeconds = "86397";

const stray = (task: TaskContext) => new Error(strayText(task.taskId));

export const strayText = (taskId: string): string => `stray of ${taskId}`;

const throwing = (task: TaskContext) => () => {
  throw stray(task);
};

/** Its neighbours run then, in milliseconds. */
const soonMs = 5;

const missing = "/there/is/no/stray";

/** Nobody listens at this port: it is reserved. */
const refused = { host: "127.0.0.1", port: 1 };

/** Tasks share its connections, as clients of databases do. */
const agent = new Agent({ keepAlive: true });
let server: Promise<number> | undefined;

/** Port of a server of this process. */
const ownPort = (): Promise<number> => {
  server ??= new Promise((resolve) => {
    const own = createServer((_, response) => response.end("answer")).unref();
    own.listen(0, "127.0.0.1", () => resolve((own.address() as { port: number }).port));
  });
  return server;
};

/** Calls by a connection that other tasks have opened. */
export const callShared = async (onAnswer: () => void): Promise<void> => {
  const port = await ownPort();
  const sent = get({ host: "127.0.0.1", port, agent }, (response) => response.once("end", onAnswer).resume());
  // On a busy machine the server ends a kept connection just when it is used again.
  sent.once("error", onAnswer);
};

/** The handler waits for a time that is longer than the test. */
const during: Record<string, Culprit> = {
  rejection: {
    start: (task) =>
      void (async () => {
        await sleep(soonMs);
        throw stray(task);
      })(),
  },
  "rejection at once": { start: (task) => void Promise.reject(stray(task)) },
  "rejection in a pipeline": {
    start: () => void pipeline(createReadStream(missing), new PassThrough()),
    tells: /ENOENT/,
  },
  fetch: { start: () => void fetch(`http://${refused.host}:9/`), tells: /fetch failed|bad port|ECONNREFUSED/ },
  timer: { start: (task) => setTimeout(throwing(task), soonMs) },
  interval: {
    start(task) {
      const timer = setInterval(() => {
        clearInterval(timer);
        throw stray(task);
      }, soonMs);
    },
  },
  immediate: { start: (task) => setImmediate(throwing(task)) },
  "next tick": { start: (task) => process.nextTick(throwing(task)) },
  microtask: { start: (task) => queueMicrotask(throwing(task)) },
  emitter: { start: (task) => setTimeout(() => new EventEmitter().emit("error", stray(task)), soonMs) },
  "async listener": {
    start(task) {
      const emitter = new EventEmitter({ captureRejections: true });
      emitter.on("data", async () => {
        throw stray(task);
      });
      emitter.emit("data");
    },
  },
  "listener of another signal": {
    start: (task) => AbortSignal.timeout(soonMs).addEventListener("abort", throwing(task)),
  },
  "event target": {
    start(task) {
      const target = new EventTarget();
      target.addEventListener("data", throwing(task));
      target.dispatchEvent(new Event("data"));
    },
  },
  program: { start: () => spawn(missing), tells: /ENOENT/ },
  "program with an aborted signal": {
    start() {
      const stopping = new AbortController();
      spawn("sleep", [leftSeconds], { signal: stopping.signal });
      setTimeout(() => stopping.abort(), soonMs);
    },
    tells: /aborted/,
  },
  stream: { start: () => createReadStream(missing), tells: /ENOENT/ },
  socket: { start: () => connect(refused), tells: /ECONNREFUSED/ },
  request: { start: () => get({ ...refused, agent: false }), tells: /ECONNREFUSED/ },
  "answer by a shared connection": { start: (task) => callShared(throwing(task)) },
  callback: { start: (task) => readFile(missing, throwing(task)) },
  "thread pool": { start: (task) => randomBytes(16, throwing(task)) },
  thread: {
    start: (task) => new Worker(`throw new Error(${JSON.stringify(strayText(task.taskId))})`, { eval: true }),
  },
  "message port": {
    start(task) {
      const { port1, port2 } = new MessageChannel();
      port1.once("message", () => {
        port1.close();
        throw stray(task);
      });
      port2.postMessage(1);
    },
  },
  "submit without await": {
    start: (task) => void task.submit({ type: "other", stray: 1 } as never),
    tells: /stray/,
  },
  "effect without await": { start: (task) => void task.once("", () => 1), tells: /once: the key/ },
  "no error": { start: () => void Promise.reject({ code: "E_STRAY", reason: "declined" }), tells: /declined/ },
  nothing: { start: () => void Promise.reject(undefined), tells: /undefined/ },
};

/** The handler returns at once, and its code goes on. */
const late: Record<string, Culprit> = {
  "late rejection": { start: (task) => void sleep(20).then(throwing(task)) },
  "late timer": { start: (task) => setTimeout(throwing(task), 20) },
  "late emitter": { start: (task) => setTimeout(() => new EventEmitter().emit("error", stray(task)), 20) },
  "late submit": {
    start: (task) => void sleep(20).then(() => task.submit({ type: "stray.work" })),
    tells: /task\.submit was called after/,
  },
  "late effect": {
    start: (task) => void sleep(20).then(() => task.once("late", () => 1)),
    tells: /task\.once was called after/,
  },
};

/** The handler waits until its time is over. */
const timedOut: Record<string, Culprit> = {
  "listener of the signal": { start: (task) => task.signal.addEventListener("abort", throwing(task)) },
  "program with the signal": {
    start: ({ signal }) => spawn("sleep", [leftSeconds], { signal }),
    tells: /aborted/,
  },
  "promise with the signal": { start: ({ signal }) => void sleep(60_000, undefined, { signal }), tells: /aborted/ },
};

const kinds = { during, late, timedOut };

/** The type's concurrency has a key that rejects. */
const keyed = "key of a limit";

export type Kind = keyof typeof kinds | "keyed";

export const culprits: readonly { name: string; kind: Kind; tells: RegExp | undefined }[] = [
  ...Object.entries(kinds).flatMap(([kind, list]) =>
    Object.entries(list).map(([name, { tells }]) => ({ name, kind: kind as Kind, tells })),
  ),
  { name: keyed, kind: "keyed", tells: /concurrency\.key returned a promise/ },
];

/** An innocent task takes `ms` milliseconds, in which its neighbours do what they do. */
const input = z.strictObject({ culprit: z.string().nullable().default(null), ms: z.int().default(60) });

/** Innocent and guilty tasks alike. The task returns the id of its process. */
export const strayOptions = {
  description: "Does what no handler should.",
  input,
  handler: async ({ culprit, ms }: z.output<typeof input>, task: TaskContext) => {
    for (const [kind, list] of Object.entries(kinds)) {
      const found = culprit === null ? undefined : list[culprit];
      if (found === undefined) continue;
      found.start(task);
      if (kind !== "late") await new Promise(() => {});
    }
    if (culprit === null) {
      await new Promise<void>((resolve, reject) => void callShared(resolve).catch(reject));
      await sleep(ms);
    }
    return { pid: process.pid };
  },
} as const;

/** A key function whose promise rejects, which a definition cannot see. The compiler would refuse it. */
export const rejectingKey = (() => Promise.reject(new Error("no key"))) as never;
