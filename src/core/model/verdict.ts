import { PortUnavailable } from "./errors.ts";

/** The end of a delivery: a `done` message is deleted, an `again` message is delivered once more. */
export type Verdict = "done" | "again";

/** Returns `again` when a port was unavailable, and throws any other error. */
export function againWhenUnavailable(error: unknown): Verdict {
  if (error instanceof PortUnavailable) return "again";
  throw error;
}
