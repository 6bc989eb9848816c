import type { TaskRecord } from "../model/record.ts";
import type { Tier } from "../model/tier.ts";
import type { Submittable } from "./handler-submit.ts";

/** The parts of a handler's schedule that do not depend on the type of its tasks. */
interface ScheduleParts {
  /** Five fields, as in crontab: minute hour day-of-month month day-of-week. Either this or `everySeconds`. */
  cron?: string;
  /** Whole minutes in seconds, 60 to 31536000, counted from `startsAt` or the schedule's creation. */
  everySeconds?: number;
  /** Time zone of `cron`: an IANA name. Default: `UTC`. */
  timezone?: string;
  /** Earliest time, as a date or an ISO text with its offset from UTC. Default: no bound. */
  startsAt?: Date | string;
  /** All times are before this one. Default: no bound. */
  endsAt?: Date | string;
  /** `skip`: a time gets no task while the schedule's last task has not ended. Default: `allow`. */
  overlap?: "allow" | "skip";
  /** False: it submits nothing. Default: true. */
  enabled?: boolean;
  /** True: each time without a task counts for the alarm on missed schedules. Default: false. */
  alarm?: boolean;
  /** Tier of the tasks. Default: the type's own. */
  priority?: Tier;
  /** Attempts for each task, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Tags of the tasks, at most 10. Default: none. */
  tags?: Record<string, string>;
}

/** A schedule that a handler makes. */
export interface HandlerSchedule<Input = unknown> extends ScheduleParts {
  /** The type of the tasks. */
  type: Submittable<Input>;
  /** Input of the tasks. */
  input: NoInfer<Input>;
}

/** A schedule of a type by its name. */
export interface NamedSchedule extends ScheduleParts {
  /** Name of the task type. */
  type: string;
  /** Input of the tasks, as JSON. */
  input?: unknown;
}

/** Changes the schedules of a task's tenant, for its handler. Throws `PortUnavailable`, and errors for the handler. */
export interface HandlerSchedules {
  /** @returns The schedule's id. */
  put(task: TaskRecord, name: string, schedule: HandlerSchedule | NamedSchedule): Promise<string>;
  delete(task: TaskRecord, name: string): Promise<void>;
}
