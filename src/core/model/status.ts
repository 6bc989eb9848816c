/** All statuses of a task. `scheduled` and `expired` can follow from the time alone: see `statusAt`. */
export const statuses = ["scheduled", "pending", "processing", "completed", "failed", "cancelled", "expired"] as const;
export type Status = (typeof statuses)[number];

/** Allowed transitions between statuses. `docs/architecture.md` draws this table, and a test compares the two. */
export const transitions: Readonly<Record<Status, readonly Status[]>> = {
  scheduled: ["pending", "cancelled"],
  pending: ["processing", "cancelled", "expired", "failed"],
  processing: ["completed", "failed", "pending", "cancelled"],
  completed: [],
  failed: ["pending"],
  // A new round of the parent starts the children again that did not complete.
  cancelled: ["pending"],
  expired: ["pending"],
};

const terminalStatuses: readonly Status[] = ["completed", "failed", "cancelled", "expired"];

/** True for a status that ends a task. A failed task can still get a new round. */
export const isTerminal = (status: Status): boolean => terminalStatuses.includes(status);
