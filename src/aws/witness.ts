import type { Debugger } from "node:inspector";
import { Session } from "node:inspector/promises";
import type { CrashNote } from "../core/model/classify.ts";
import { type Place, type PlaceOf, stackText } from "../core/model/stack.ts";
import type { RunningAttempt } from "../core/ports/tasks.ts";
import { attemptExpression } from "../core/task/ambient.ts";
import { isAbsolute, join, pathOfUrl, relative, slashed } from "../machine/paths.ts";
import { fromEnv } from "../settings/config.ts";
import { property } from "../util/foreign-value.ts";
import { placeInSources } from "./bundle-places.ts";
import { tableClient } from "./clients.ts";
import { DynamoTable } from "./dynamo-table.ts";
import { useContainerCredentials } from "./lean/container-credentials.ts";
import { DynamoRecords } from "./records.ts";
import { type Exit, headBytes, slotBytes } from "./watchdog.ts";

/*
 * Takes notes of a process that is about to end. It runs in the watchdog's thread (`watchdog.ts`), and loads with the
 * first such process: the main thread is blocked, waits for it, or runs out of memory.
 */

/**
 * Time for the look at the main thread's stack, in milliseconds. A thread that waits in a call of the system cannot be
 * looked at.
 */
const lookMs = 1_000;

/** The attempt's end is settled within minutes, or after an outage. */
const noteSeconds = 7 * 86_400;

const megabyte = 1024 * 1024;

export type Seen =
  | { cause: "blocked" }
  | { cause: "exited"; exit: Exit | undefined }
  | { cause: "out_of_memory"; usedBytes: number };

/** Folders of Offload's own code, where it runs from its sources or compiled. In a bundle, source maps leave it out. */
const ownFolders = ["lambdas", "src"].map((name) => `${join(import.meta.dirname, "../..", name)}/`);

/** The further needs of the notes: the memory with the attempts, and the limit that is nearest. */
interface Witnessed {
  shared: SharedArrayBuffer;
  limitMb: number;
  limitOf: "heap" | "process";
}

/** Where the main thread is, and whose code that is. */
interface Look {
  taskId?: string | undefined;
  stack?: string | undefined;
}

/** Notes beside the records of all attempts of this process what ends it. */
export async function takeNotes(given: Witnessed, seen: Seen, env: NodeJS.ProcessEnv = process.env): Promise<void> {
  const attempts = runningIn(given);
  if (attempts.length === 0) return;
  useContainerCredentials(env);
  const records = new DynamoRecords(new DynamoTable(tableClient(), fromEnv(env, ["table"]).table));
  const save = async (look: Look) => {
    const purgeAt = Math.ceil(Date.now() / 1000) + noteSeconds;
    await Promise.all(
      attempts.map((attempt) => {
        const note = noteOf(given, seen, look, attempt, attempts.length);
        return records.savePart(attempt, `crash#${attempt.attempts_total}`, note, purgeAt);
      }),
    );
  };
  if (seen.cause === "exited") return save(lookOf(seen.exit));
  // Memory may last for this note only.
  if (seen.cause === "out_of_memory") await save({});
  await save(await lookAtMainThread());
}

function runningIn({ shared }: Witnessed): RunningAttempt[] {
  const bytes = Buffer.from(new Uint8Array(shared, headBytes));
  const found: RunningAttempt[] = [];
  for (let at = 0; at < bytes.length; at += slotBytes) {
    if (bytes[at] === 0) continue;
    const text = bytes.toString("utf8", at, bytes.indexOf(10, at));
    const [tenant_id, task_id, attempts_total] = JSON.parse(text) as [string, string, number];
    found.push({ tenant_id, task_id, attempts_total });
  }
  return found;
}

function noteOf(
  { limitMb, limitOf }: Witnessed,
  seen: Seen,
  { taskId, stack }: Look,
  attempt: RunningAttempt,
  attempts: number,
): CrashNote {
  const own = attempts === 1 || taskId === attempt.task_id;
  const by = own ? "this" : taskId === undefined ? "unknown" : "another";
  return {
    ...{ cause: seen.cause, by, attempts },
    ...(seen.cause === "exited" && seen.exit !== undefined && { exit_code: seen.exit.code }),
    ...(seen.cause === "out_of_memory" && {
      ...{ used_mb: Math.round(seen.usedBytes / megabyte), limit_mb: limitMb, limit_of: limitOf },
    }),
    ...(by !== "another" && stack !== undefined && { stack }),
  };
}

const lookOf = (exit: Exit | undefined): Look =>
  exit === undefined ? {} : { taskId: exit.taskId, stack: placesIn("process.exit", exit.stack) };

/** Stops the main thread for a moment, and reads its stack. */
async function lookAtMainThread(): Promise<Look> {
  const session = new Session();
  const late = new Promise<Look>((resolve) => setTimeout(() => resolve({}), lookMs));
  try {
    session.connectToMainThread();
    return await Promise.race([pausedLook(session), late]);
  } catch {
    // A debugger may be in the way. The note then has no place.
    return {};
  } finally {
    session.disconnect();
  }
}

async function pausedLook(session: Session): Promise<Look> {
  const scripts = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params: { scriptId, url } }) => scripts.set(scriptId, url));
  const paused = new Promise<Look>((resolve) => {
    session.on("Debugger.paused", ({ params: { callFrames } }) => {
      const stack = placesIn("the code that ran", callFrames.map((frame) => frameText(frame, scripts)).join("\n"));
      void taskAt(session, callFrames[0]).then((taskId) => resolve({ stack, taskId }));
    });
  });
  await session.post("Debugger.enable");
  await session.post("Debugger.pause");
  return paused;
}

/** Id of the task that the code at a frame belongs to. */
async function taskAt(session: Session, frame: Debugger.CallFrame | undefined): Promise<string | undefined> {
  if (frame === undefined) return undefined;
  const asked = { callFrameId: frame.callFrameId, expression: attemptExpression, silent: true, returnByValue: true };
  // The types know no answer of a method. Without one, the stack says enough.
  const answer: unknown = await session.post("Debugger.evaluateOnCallFrame", asked).catch(() => undefined);
  const taskId = property(property(answer, "result"), "value");
  return typeof taskId === "string" ? taskId : undefined;
}

/** A frame as V8 writes it. The frames themselves do not tell their files. */
function frameText({ functionName, location }: Debugger.CallFrame, scripts: ReadonlyMap<string, string>): string {
  const place = `${scripts.get(location.scriptId) || "node:unknown"}:${location.lineNumber + 1}:${(location.columnNumber ?? 0) + 1}`;
  return `    at ${functionName === "" ? place : `${functionName} (${place})`}`;
}

const placesIn = (title: string, frames: string): string | undefined =>
  stackText({ name: title, message: "", stack: `${title}\n${frames}` }, placeOf);

/** Places in the authors' sources: by the source maps beside the code, or as Node has translated them. */
const placeOf: PlaceOf = (place) => {
  if (/^node:|[/\\]node_modules[/\\]offload[/\\]/.test(place.file)) return undefined;
  // Source maps of the local server name their sources by URLs, as Node's frames do.
  const { file, ...at } = placeInSources(place) ?? place;
  return inProject({ ...at, file: file.startsWith("file:") ? pathOfUrl(file) : slashed(file) });
};

function inProject(place: Place): Place | undefined {
  if (ownFolders.some((folder) => place.file.startsWith(folder))) return undefined;
  if (!isAbsolute(place.file)) return place;
  const path = relative(process.cwd(), place.file);
  return path.startsWith("..") || isAbsolute(path) || path.endsWith(".mjs") ? undefined : { ...place, file: path };
}
