import type { ChildProcess } from "node:child_process";
import { parseEnvelope } from "../../core/model/read-envelope.ts";

/** The end of a worker process. */
export interface WorkerEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Types and ids of the tasks on which it worked. */
  tasks: readonly string[];
}

export const howItEnded = ({ code, signal }: WorkerEnd): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

/**
 * The log line of the end of a worker process that worked, or did not start.
 * @param hasErrorOutput True when the process has written of its error.
 */
export function lineOfEnd(end: WorkerEnd, hasErrorOutput: boolean): string {
  const { signal, tasks } = end;
  const how = howItEnded(end);
  const see = hasErrorOutput && signal !== "SIGKILL" ? "; its error output is above" : "";
  return tasks.length === 0
    ? `A worker process did not start (${how})${see}.`
    : `A worker process died (${how})${reasonOf(signal)}${see}. ${lostAttempts(tasks)}`;
}

/** The watchdog, the out-of-memory killer and a person send the same signal. */
const reasonOf = (signal: NodeJS.Signals | null): string =>
  signal === "SIGKILL" ? ": its code blocked the event loop past the time-out, or it was killed from outside" : "";

/** Tasks that a line of the log names, at most. */
const maxNamed = 5;

function lostAttempts(tasks: readonly string[]): string {
  const more = tasks.length > maxNamed ? ` and ${tasks.length - maxNamed} more` : "";
  const named = tasks.slice(0, maxNamed).join(", ");
  return `Running: ${named}${more}. As in AWS, an attempt counts as crashed when its lease ends.`;
}

/** Type and id of the task in a message. */
export function taskIn(body: string): string {
  const parsed = parseEnvelope(body);
  return parsed.ok ? `${parsed.envelope.type} ${parsed.envelope.task_id}` : "an unreadable message";
}

/** Passes on a process's error output. Returns a function that tells if there was any. */
export function passOnErrorOutput(child: ChildProcess): () => boolean {
  let bytes = 0;
  child.stderr?.on("data", (chunk: Buffer) => {
    process.stderr.write(chunk);
    bytes += chunk.length;
  });
  return () => bytes > 0;
}
