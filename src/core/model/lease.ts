import type { TaskRecord } from "./record.ts";

/** The longest lease, in seconds: a dead worker is noticed within it, and longer attempts renew it. */
export const longestLeaseSeconds = 120;

/** The lease of an attempt, in whole seconds: the type's time-out × 1.5 + 15 s, at most 120 s. */
export const leaseSeconds = (timeoutSeconds: number): number =>
  Math.min(longestLeaseSeconds, Math.ceil(timeoutSeconds * 1.5 + 15));

/**
 * The fence of an attempt: it may change the record only while it holds it. A parent that waits for its children has no
 * attempt, although it is `processing`: a late try of an earlier call must not change it.
 */
export const fence = (record: TaskRecord) =>
  ({
    status: { is: "processing" },
    attempts_total: { is: record.attempts_total },
    family_state: { not: "waiting" },
  }) as const;
