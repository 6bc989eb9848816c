import type { Envelope } from "../model/envelope.ts";
import type { TaskRecord } from "../model/record.ts";
import type { TaskType } from "./task.ts";

/**
 * An attempt to settle: its record as claimed, its message, and its type. `type` is undefined when the registry does
 * not have it.
 */
export interface Settling {
  record: TaskRecord;
  envelope: Envelope;
  type: TaskType | undefined;
  /** Places of the handler's error. Undefined: it threw none that may be stored. */
  stack?: string | undefined;
  /** True: the handler threw a bug of its own code. */
  isOwnBug?: boolean;
  /** Called when the end of a completed attempt is stored, before anybody is told. */
  onCompleted?: () => void;
}

/**
 * The effect of settling, and the record after it. `stale`: the record had changed, so the attempt's end does not
 * count. It is also the result when this attempt changed the record and the answer was lost, so the caller looks at the
 * record again.
 */
export interface Settled {
  as: "completed" | "retried" | "failed" | "cancelled" | "waiting" | "suspended" | "stale";
  record: TaskRecord | undefined;
}
