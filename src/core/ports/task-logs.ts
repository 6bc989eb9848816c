import type { TaskKey } from "../model/record.ts";
import type { Tier } from "../model/tier.ts";
import type { LogLevel } from "../model/words.ts";
import type { Page } from "./tasks.ts";

/** A line of a task's log: what its handler wrote with `task.log` or `console`, or one of Offload's own. */
export interface LogLine {
  /** ISO 8601 UTC with milliseconds. */
  at: string;
  level: LogLevel;
  message: string;
  /** The attempt's number in its round, from 1. Null: the line belongs to no attempt. */
  attempt: number | null;
  fields: Record<string, unknown>;
}

/** Writers of lines: the submit, or the workers of a tier in Lambda or in containers. */
export type LogSource = "submit" | "worker" | "container";

/** Lines of one source within a time. */
export interface LogSpan {
  source: LogSource;
  /** Epoch milliseconds, both inclusive. */
  fromMs: number;
  untilMs: number;
}

/** Reads the log lines of tasks. Throws `PortUnavailable`. */
export interface TaskLogs {
  /** The sources that the deployment has. */
  readonly sources: readonly LogSource[];
  /** True when the lines of each tier's workers are read apart. */
  readonly byTier: boolean;
  /** A line can be read at most this long after it was written, in milliseconds. */
  readonly lateMs: number;
  /**
   * Reads lines of a task, of workers those of one tier, oldest first. A page may have fewer than `limit` lines, also
   * none, and others after it.
   */
  page(
    task: TaskKey & { tier: Tier },
    span: LogSpan,
    page: { limit: number; from?: string | undefined },
  ): Promise<Page<LogLine> & { bytes: number }>;
}
