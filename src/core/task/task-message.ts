import type { Change } from "../model/change.ts";
import { type Envelope, latestCreatedAt } from "../model/envelope.ts";
import type { Grant } from "../model/grant.ts";
import { iso } from "../model/record.ts";
import type { Delivery } from "../ports/tasks.ts";
import type { TaskType } from "./task.ts";

/** A delivery whose body is an envelope. `type` is undefined when the registry does not have it. */
export interface TaskMessage {
  delivery: Delivery;
  envelope: Envelope;
  type: TaskType | undefined;
  /** The grant of the line from which the message comes. Absent: it comes from no line. */
  grant?: Grant | undefined;
  /** The place that its worker has just passed to the task. Absent: another call gave it one, or it has none. */
  place?: PassedPlace | undefined;
}

/** A place that a worker passed on to the task that it starts next. */
export interface PassedPlace {
  /** The name of its line. */
  line: string;
  /** The bucket of the line's places that has it. */
  bucket: number;
  /** Epoch milliseconds. */
  untilMs: number;
}

/** Time-out in seconds for a type that the registry does not have. */
const unknownTimeoutSeconds = 30;

export const timeoutOf = ({ type }: TaskMessage): number => type?.timeoutSeconds ?? unknownTimeoutSeconds;

/** The test of a record whose task can start now. */
export const canStart = ({ envelope, delivery }: TaskMessage, nowMs: number): Change["when"] => ({
  status: { is: "pending" },
  priority: { is: delivery.tier },
  type: { is: envelope.type },
  due_at: { atMost: iso(nowMs) },
  start_by: { above: iso(nowMs), orAbsent: true },
  purge_at: { above: Math.floor(nowMs / 1000) },
  created_at: { atMost: latestCreatedAt(envelope) },
});
