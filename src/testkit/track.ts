import type { ChildSubmit, TaskLog } from "../core/context.ts";
import type { Log } from "../core/ports.ts";
import type { TaskKey } from "../core/record.ts";
import type { Faults } from "./faults.ts";

/** A task that a handler submitted. */
export interface Submitted extends ChildSubmit {
  taskId: string;
}

/** One line that a handler logged; of a `sensitive` type what is left of it. */
export interface LogLine {
  /** The attempt, counted from 1 over all rounds. */
  attempt: number;
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** What is noted of one task while it runs. */
export class Track {
  readonly key: TaskKey;
  readonly faults: Faults;
  /** Attempts that were claimed, over all rounds. */
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

/** A log that keeps what handlers say, and drops what Offload itself does. */
export class Lines {
  #speaker: { track: Track; attempt: number } | undefined;
  readonly port: Log = this.#log();

  /** A handler's log, whose lines are noted as they come through. */
  noting(log: TaskLog, track: Track, attempt: number, isAlive: () => boolean): TaskLog {
    const say = (level: LogLine["level"]) => (message: string, fields?: Record<string, unknown>) => {
      if (!isAlive()) return;
      this.#speaker = { track, attempt };
      log[level](message, fields);
      this.#speaker = undefined;
    };
    return { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
  }

  #log(): Log {
    const keep =
      (level: LogLine["level"]) =>
      (message: string, fields: Record<string, unknown> = {}) => {
        const speaker = this.#speaker;
        speaker?.track.lines.push({ attempt: speaker.attempt, level, message, fields });
      };
    const [debug, info, warn, error] = levels.map(keep) as [Log["debug"], Log["info"], Log["warn"], Log["error"]];
    const log: Log = { debug, info, warn, error, with: () => log };
    return log;
  }
}
