import type { ErrorKind } from "./errors.ts";

/** A task that could start otherwise waits for this, and so does a suspended attempt. */
export type WaitingFor = SuspendedFor | StoppedBy;

/** The wait of a task in a line. */
export type StoppedBy =
  /** Until an operator resumes what is paused. */
  | { kind: "pause"; of: "tier" | "type" | "tenant" }
  /** Until the breaker of its type lets it go: attempts fail. */
  | { kind: "breaker" }
  /** For a place: as many tasks of its key run as may. In strict order: the one before it is not over. */
  | { kind: "concurrency"; order?: "strict" | undefined }
  /** For its start: as many tasks of its key have started as may. */
  | {
      kind: "rate";
      /** The number of rates of its type, all of which must allow the start. Absent: one. */
      rates?: number | undefined;
    }
  /** For the ends of the tasks that had its unique key before it. */
  | { kind: "unique"; tasks: string[] };

/** A wait as clients see it. */
export type WaitView =
  | SuspendedFor
  | (StoppedBy & {
      /** Place in line, from 1. Null: beyond the hundredth, or unknown. Absent in lists. */
      place?: number | null | undefined;
      /** The task that has the turn of a line in strict order. Null: none has, or it is unknown. Absent: not asked. */
      held_by?: string | null | undefined;
      /** The time, in seconds, of the rate of a list that allows the line's next start last. Absent: not asked. */
      per_seconds?: number | undefined;
      /** The time from which all rates of a list allow the line's next start. Absent: not asked. */
      next_start_at?: string | undefined;
    });

/** The wait of a suspended attempt. */
export type SuspendedFor =
  /** For a time. */
  | { kind: "sleep"; until: string }
  /** For one of these signals, at most until then, or for the end of one of these children. */
  | { kind: "signal"; signals: string[]; until: string; children?: string[] | undefined }
  /** For the next try of a step: its number in the round, from 2. */
  | { kind: "step"; step: string; attempt: number; until: string }
  /** For the end of one of these children, at most until then. Of many, the first ones are named. */
  | { kind: "child"; children: string[]; until?: string | undefined };

/** The end of an attempt that goes on later, as the same attempt. */
export interface Suspension {
  /** Epoch milliseconds at which it goes on. */
  dueAt: number;
  /** Undefined: it waits for nothing, and goes on as soon as a worker is free. */
  waitingFor?: SuspendedFor;
  /** The fault for which it could not go on, as the task's error. Absent: there is none. */
  fault?: { error: string; error_type: string; error_kind: ErrorKind };
}

/** True for the wait of an attempt that has started. */
export const isSuspended = (wait: WaitView | undefined): wait is SuspendedFor =>
  wait !== undefined && ("until" in wait || wait.kind === "child");

/** True for a task that waits for the ends of those that had its unique key, or did so until its own end. */
export const waitsForTurn = ({ waiting_for: wait }: { waiting_for?: WaitingFor }): boolean => wait?.kind === "unique";
