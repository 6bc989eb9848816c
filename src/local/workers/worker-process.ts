import { on } from "node:events";
import { url } from "node:inspector";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import type { WorkerContext } from "../../../lambdas/worker.ts";
import { doesEndItself } from "../../aws/own-process.ts";
import type { ProcessOptions } from "../../code/describe/describe.ts";
import { watched } from "../../code/describe/worker-environment.ts";
import { sourceStackOf } from "../../code/project/source-places.ts";
import { internalOptions } from "../../core/task/internal-types.ts";
import { useLocalClients } from "../../installed/registration.ts";
import { doorsVariable, hasReplies, openDoors, type Replies } from "../direct/doors.ts";
import { doorsOfParent } from "../direct/parent-doors.ts";
import { toParent } from "../direct/to-parent.ts";
import { useRole } from "../s3/roles.ts";
import { followed, useTimeOfParent } from "../time/follow-parent.ts";
import { isMoved, type Moved } from "../time/followers.ts";
import { moveDate, movedMs, moveTo } from "../time/moved-time.ts";
import { keepCompiled } from "./compiled-code.ts";
import { debugClock } from "./debug-clock.ts";
import { localCode, spareVariable, workerFolderVariable } from "./local-code.ts";
import { watchdogOfMachine } from "./watchdog-of-machine.ts";

/** A request of the pool to a worker process. */
export interface Invocation {
  id: number;
  event: SQSEvent;
  /** Epoch milliseconds of the machine at which the pool ends this process. */
  deadlineMs: number;
  /** Time by which the server's clock is ahead of the machine's, in milliseconds. */
  aheadMs: number;
}
/** A process that has started without a project's code, and loads it now. */
export interface Load {
  load: ProcessOptions;
  /** Variables of the user's shell. */
  shell: NodeJS.ProcessEnv;
}
/** The process is to end: `tasks/process.ts` has a part in it. */
export interface End {
  end: true;
}
/** The process that has loaded the code becomes a worker with these variables. */
export interface Begin {
  env: Record<string, string>;
}
export type Reply =
  | { kind: "loaded" }
  /** `endsItself`: it is asked to end by a message, as Windows has no signal that it could hear. */
  | { kind: "ready"; endsItself: boolean }
  | { kind: "answer"; id: number; response: SQSBatchResponse }
  /** Each message of the batch has its verdict: the process can get another batch while it goes on with lines. */
  | { kind: "decided"; id: number }
  | { kind: "error"; id: number; error: string }
  /**
   * The process must get no further batch, and be replaced: an exception was not caught, or an attempt did not stop
   * when it was cancelled.
   */
  | { kind: "worn" }
  /** A handler read a variable that it does not have. */
  | { kind: "undeclared"; name: string };

/** The output's reader is gone, or its file is on a full disk. That must not end attempts. */
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});

const reply = (message: Reply) => toParent(message);

/** The server ended, perhaps by `kill -9`, so no answer of this process is needed. */
process.on("disconnect", () => process.exit(0));
/** Ctrl-C reaches every process of the group, but the server ends its workers itself. */
process.on("SIGINT", () => {});

keepCompiled();
const { OFFLOAD_TRACING: tracing, OFFLOAD_SPANS_FILE: spansFile } = process.env;
if (tracing === "1" && spansFile !== undefined) (await import("../traces/spans.ts")).keepSpans(spansFile);

const { [workerFolderVariable]: workerFolder } = process.env;
useTimeOfParent(process.env);
// A worker as it would be deployed has a clock of its own, which asks `Date`.
if (workerFolder !== undefined) moveDate();

const { [doorsVariable]: hasDoors } = process.env;
if (hasDoors !== undefined) useLocalClients();

/** Offload's own code in a process. What it compiles is written at once: the process often ends by a signal. */
async function ownCode() {
  const code = await import("../../../lambdas/worker.ts");
  flushCompileCache();
  return code;
}

/** Loads Offload's own code, then a project's, and waits until it is to work with it. */
async function waitAsSpare(): Promise<void> {
  const messages = on(process, "message") as AsyncIterator<[Load | Begin | Moved | Replies]>;
  const { sayStrayErrors, writeDescription } = await import("../../code/describe/write-description.ts");
  await ownCode();
  const endSaying = sayStrayErrors();
  for await (const [message] of { [Symbol.asyncIterator]: () => messages }) {
    if ("load" in message) {
      await writeDescription(message.load, message.shell);
      reply({ kind: "loaded" });
      flushCompileCache();
    } else if (isMoved(message)) {
      followed(message);
    } else if (!hasReplies(message)) {
      endSaying();
      Object.assign(process.env, message.env);
      return;
    }
  }
}

if (process.env[spareVariable] !== undefined) await waitAsSpare();
if (hasDoors !== undefined) openDoors(doorsOfParent());
// Who reads the channel gets each message: none is kept for a later reader.
process.on("message", (message: object) => {
  if (isMoved(message)) followed(message);
});

useRole(process.env.OFFLOAD_TIER === internalOptions.sweep.priority ? "internalWorker" : "worker");

type Handler = (event: SQSEvent, context: WorkerContext) => Promise<SQSBatchResponse>;

/** The handler of this installation's worker, with the project's code. */
async function localHandler(): Promise<Handler> {
  const { OFFLOAD_UNDECLARED: undeclared = "" } = process.env;
  process.env = watched(process.env, undeclared.split(","), (name) => reply({ kind: "undeclared", name }));
  const { createWorker } = await ownCode();
  return createWorker(await localCode(), own, () => reply({ kind: "worn" }));
}

/** The handler of a worker as it would be deployed. */
const deployedHandler = async (folder: string): Promise<Handler> =>
  (await import(pathToFileURL(join(folder, "index.mjs")).href)).handler;

const own = {
  stackOf: sourceStackOf,
  watchdog: watchdogOfMachine(),
  // With a debugger, time-outs wait at a breakpoint, and nothing kills the process.
  ...(url() !== undefined && { clock: debugClock(), watchdog: { guard: () => () => {} } }),
};
const handler = await (workerFolder === undefined ? localHandler() : deployedHandler(workerFolder));

/** Batches on which the process works. */
let batches = 0;

process.on("message", async (message: Invocation | Moved | End | Replies) => {
  if (isMoved(message) || hasReplies(message)) return;
  if ("end" in message) return process.emit("SIGTERM");
  const { id, event, deadlineMs } = message;
  moveTo(message.aheadMs);
  // The worker adds what is left to the time of `Date`, and compares the sum with its clock.
  const leftMs = () => deadlineMs + movedMs() - Date.now();
  let isAnswered = false;
  // Most batches are answered in the same turn.
  const onDecided = () => void setImmediate(() => isAnswered || reply({ kind: "decided", id }));
  const shared = { onDecided, isShared: () => batches > 1 };
  const context = { getRemainingTimeInMillis: leftMs, process: shared } as WorkerContext;
  batches += 1;
  try {
    reply({ kind: "answer", id, response: await handler(event, context) });
  } catch (error) {
    reply({ kind: "error", id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  } finally {
    isAnswered = true;
    batches -= 1;
  }
});

reply({ kind: "ready", endsItself: doesEndItself() });
