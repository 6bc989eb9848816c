import type { Classified } from "./classify.ts";
import { firstPlaceIn } from "./stack.ts";

/** The last words of a process about an attempt that ended with it. It is a part beside the task's record. */
export interface CrashNote {
  /** `blocked`: its event loop was blocked until the process was ended. `exited`: a handler called `process.exit`. */
  cause: "blocked" | "exited" | "out_of_memory";
  /** Attempt whose code did it: this one, another one in the same process, or nobody knows which. */
  by: "this" | "another" | "unknown";
  /** Number of attempts in the process. */
  attempts: number;
  exit_code?: number;
  /** Memory that the process used, and the limit of its heap or of all its memory, in megabytes. */
  used_mb?: number;
  limit_mb?: number;
  limit_of?: "heap" | "process";
  /** Where the code was, as `stackText` writes it. Absent: the process could not tell. */
  stack?: string;
}

const typeOf = { blocked: "EventLoopBlocked", exited: "ProcessExited", out_of_memory: "OutOfMemory" } as const;

/** The failure of an attempt whose process ended. Pure. */
export function crashFailure(attempt: number, note: CrashNote | undefined): Classified {
  if (note === undefined) {
    const message = `the worker died, or lost its lease, during attempt ${attempt}`;
    return { kind: "crashed", type: "AttemptCrashed", message };
  }
  if (note.by === "another") {
    const message = `the worker died during attempt ${attempt}: another attempt in its process ${didWhat(note)}`;
    return { kind: "crashed", type: "AttemptCrashed", message };
  }
  const place = firstPlaceIn(note.stack);
  const who =
    note.by === "this" ? `attempt ${attempt}` : `one of ${note.attempts} attempts in the process of attempt ${attempt}`;
  const message = `${who} ${didWhat(note)}${place === undefined ? "" : `, at ${place}`}`;
  return { kind: "crashed", type: typeOf[note.cause], message };
}

function didWhat({ cause, exit_code, used_mb, limit_mb, limit_of }: CrashNote): string {
  if (cause === "exited") return `called process.exit(${exit_code ?? ""})`;
  if (cause === "blocked") return "blocked the event loop until its process was ended";
  const limited = limit_of === "heap" ? "objects in it" : "it";
  return `ran out of memory: its process used ${used_mb} MB, and ${limited} may use ${limit_mb} MB`;
}
