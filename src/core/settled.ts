import type { TaskRecord } from "./record.ts";

/**
 * The effect of settling, and the record after it. `stale`: the record had changed, so the attempt's end does not count. It is
 * also the result when this attempt changed the record and the answer was lost, so the caller looks at the record again.
 */
export interface Settled {
  as: "completed" | "retried" | "failed" | "cancelled" | "waiting" | "stale";
  record: TaskRecord | undefined;
}
