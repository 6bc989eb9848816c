import type { ChildSubmit, TaskLog } from "../core/context.ts";
import type { Log } from "../core/ports.ts";
import type { TaskKey } from "../core/record.ts";
import type { Faults } from "./faults.ts";

/** A task that a handler submitted. */
export interface Submitted extends ChildSubmit {
  taskId: string;
}

/** One line that a handler logged. Lines of a `sensitive` type are redacted as in a deployment. */
export interface LogLine {
  /** Number of the attempt, from 1, over all rounds. */
  attempt: number;
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** Notes about one task while it runs. */
export class Track {
  readonly key: TaskKey;
  readonly faults: Faults;
  /** Number of claimed attempts, over all rounds. */
  started = 0;
  readonly submitted = new Map<string, Submitted>();
  readonly lines: LogLine[] = [];
  readonly #steps = new Map<number, string[]>();
  readonly #progress = new Map<number, number[]>();

  constructor(key: TaskKey, faults: Faults) {
    this.key = key;
    this.faults = faults;
  }

  stepsOf(attempt: number): string[] {
    return listOf(this.#steps, attempt);
  }

  progressOf(attempt: number): number[] {
    return listOf(this.#progress, attempt);
  }
}

function listOf<T>(lists: Map<number, T[]>, attempt: number): T[] {
  const list = lists.get(attempt) ?? [];
  lists.set(attempt, list);
  return list;
}

const levels = ["debug", "info", "warn", "error"] as const;

/** A log port that stores the lines of handlers, and drops the lines of Offload itself. */
export class Lines {
  /** The handler whose line is being written. Undefined: a line is Offload's own. */
  #author: { track: Track; attempt: number } | undefined;
  readonly port: Log = this.#log();

  /** Wraps a handler's log, so that its lines are stored after the core has redacted them. */
  storing(log: TaskLog, track: Track, attempt: number, isAlive: () => boolean): TaskLog {
    const write = (level: LogLine["level"]) => (message: string, fields?: Record<string, unknown>) => {
      if (!isAlive()) return;
      this.#author = { track, attempt };
      log[level](message, fields);
      this.#author = undefined;
    };
    return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  }

  #log(): Log {
    const store =
      (level: LogLine["level"]) =>
      (message: string, fields: Record<string, unknown> = {}) => {
        const author = this.#author;
        author?.track.lines.push({ attempt: author.attempt, level, message, fields });
      };
    const [debug, info, warn, error] = levels.map(store) as [Log["debug"], Log["info"], Log["warn"], Log["error"]];
    const log: Log = { debug, info, warn, error, with: () => log };
    return log;
  }
}
