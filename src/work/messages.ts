import type { Delivery } from "../core/ports/tasks.ts";

/**
 * The two processes of a container worker: one for all tasks, and one in which a task whose last attempt crashed runs
 * alone.
 */
export type Role = "all" | "alone";

/** Variable with the role of a process that the supervisor starts. */
export const roleVariable = "OFFLOAD_WORK_ROLE";

/** From the supervisor to a process. */
export type Order =
  /** Start no task any more; give back what still runs after the given seconds; end. */
  | { kind: "stop"; drainSeconds: number }
  /** Work on this message alone. */
  | { kind: "run"; id: number; delivery: Delivery }
  /** The work on a message in the other process has ended, or that process has. */
  | { kind: "ended"; id: number };

/** From a process to the supervisor. */
export type Report =
  | { kind: "ready" }
  | { kind: "state"; running: number; stalled: boolean }
  /**
   * The process must be replaced: an exception was not caught, or an attempt did not stop when it was cancelled. What
   * runs in it ends first.
   */
  | { kind: "worn" }
  /** A message whose task must run alone. */
  | { kind: "alone"; id: number; delivery: Delivery }
  /** The work on a message that was sent to this process has ended. */
  | { kind: "ended"; id: number };
