import type { Log } from "../core/ports/tasks.ts";

/**
 * Logs an error that no code has caught and that belongs to no attempt, such as one of a connection that a task file
 * opened when it was loaded.
 */
export const logOwnStray =
  (log: Log) =>
  (error: unknown): void => {
    log.error("an error that belongs to no task was not caught: its origin is code that runs outside of handlers", {
      error: error instanceof Error ? error : String(error),
      ...(error instanceof Error && error.stack !== undefined && { stack: error.stack }),
    });
  };
