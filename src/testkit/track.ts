import type { TaskKey } from "../core/model/record.ts";
import type { Log } from "../core/ports/tasks.ts";
import type { TaskLog } from "../core/task/context.ts";
import type { ChildSubmit } from "../core/task/handler-submit.ts";
import { type ChildPath, type Fault, type Faults, ofChild } from "./faults.ts";

/** A task that a handler submitted. */
export interface Submitted extends ChildSubmit {
  taskId: string;
}

/** A child that a handler spawned. */
export interface Spawned {
  taskId: string;
  key: string;
  type: string;
  input: unknown;
}

/** One line that a handler logged. Lines of a `sensitive` type are redacted as in a deployment. */
export interface LogLine {
  /** Number of the attempt, from 1, over all rounds. */
  attempt: number;
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown>;
}

/** One step of an attempt. */
export interface Step {
  name: string;
  /** The kit's time, in epoch milliseconds. */
  atMs: number;
  /** The fields of a log line. Undefined: the step is not a log line. */
  fields?: Record<string, unknown> | undefined;
  /** The fault that happened at this step. */
  fault: Fault | undefined;
}

/** The tasks that led to a task, and what holds for all of its run. */
export interface Lineage {
  /** False: tasks that handlers submit are accepted, and never start. */
  follow: boolean;
  /** The task's type, and those of the tasks that led to it. */
  types: ReadonlySet<string>;
  /** Number of the run's tasks that a task of their own type led to. */
  run: { repeats: number };
}

const noLineage = (): Lineage => ({ follow: true, types: new Set(), run: { repeats: 0 } });

/** Notes about one task while it runs. */
export class Track {
  readonly key: TaskKey;
  readonly faults: Faults;
  /** Place of the task in the family of the test's task. Undefined: it is not in the family, so it has no faults. */
  readonly path: ChildPath | undefined;
  /** Number of claimed attempts, over all rounds. A suspended attempt and what follows it are one. */
  started = 0;
  /** True when the newest attempt is suspended: the next claim goes on with it. */
  suspended = false;
  lineage = noLineage();
  readonly submitted = new Map<string, Submitted>();
  readonly spawned = new Map<string, Spawned>();
  readonly lines: LogLine[] = [];
  readonly #steps = new Map<number, Step[]>();
  readonly #progress = new Map<number, number[]>();

  constructor(key: TaskKey, faults: Faults, path: ChildPath | undefined) {
    this.key = key;
    this.faults = faults;
    this.path = path;
  }

  stepsOf(attempt: number): Step[] {
    return listOf(this.#steps, attempt);
  }

  /** The attempt's next step, with its fault. The caller adds it to the attempt's steps. */
  nextStep(attempt: number, name: string, atMs: number): Step {
    const number = this.stepsOf(attempt).length + 1;
    return { name, atMs, fault: this.path && this.faults.take(this.path, attempt, number, name) };
  }

  /** The error for a fault of this task that has not happened. */
  notHappened({ how, step, attempt = 1 }: Fault): RangeError {
    const names = this.stepsOf(attempt).map(({ name }) => name);
    const had =
      attempt > this.started
        ? `The task's number of attempts was ${this.started}`
        : `The steps of this attempt were: ${names.map((name, index) => `${index + 1} ${name}`).join(", ")}`;
    const where = `step ${step} of attempt ${attempt}${ofChild(this.path ?? [])}`;
    return new RangeError(`The fault ${how} at ${where} did not happen. ${had}.`);
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

  /**
   * Wraps a handler's log, so that its lines are stored after the core has redacted them.
   * @param onLine Called after a line is stored.
   */
  storing(
    log: TaskLog,
    { track, attempt, isAlive }: { track: Track; attempt: number; isAlive: () => boolean },
    onLine: (line: LogLine) => void,
  ): TaskLog {
    const write =
      (level: LogLine["level"]) =>
      (...given: unknown[]) => {
        if (!isAlive()) return;
        const { length } = track.lines;
        this.#author = { track, attempt };
        log[level](...given);
        this.#author = undefined;
        const line = track.lines[length];
        if (line !== undefined) onLine(line);
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
