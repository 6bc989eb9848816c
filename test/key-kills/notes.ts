import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** What a handler did: a line of a file that outlives each process. The file's order is the order of what happened. */
export interface Did {
  what: "start" | "end";
  key: string;
  task: string;
  /** Number of the attempt, over all rounds. */
  attempt: number;
  pid: number;
  /** Numbers of the inputs that the handler got. */
  inputs: number[];
  /** How the attempt ended, as the handler knows it: `again` is a failure that is retried. */
  outcome?: "done" | "again" | "failed" | "stopped";
}

/** From here on these processes may be dead. Written before they are killed. */
interface Killed {
  what: "killed";
  pids: number[];
}

export type Note = Did | Killed;

/** One write to the end of the file, which other processes do not split. */
export const note = (file: string, line: Note): void => appendFileSync(file, `${JSON.stringify(line)}\n`);

export const notesIn = (file: string): Note[] =>
  existsSync(file)
    ? readFileSync(file, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Note)
    : [];
