import type { Tier } from "../core/model/words.ts";
import type { Overlap } from "../core/schedules/definition.ts";
import type { ScheduleView } from "../core/schedules/schedule-record.ts";
import type { TaskInput, TaskName } from "./definitions.ts";
import { refusesRepeat } from "./errors.ts";
import type { CallOptions } from "./limits.ts";
import { List } from "./list.ts";
import type { SubmittedTask } from "./task-ref.ts";
import { newKey, path, type Transport } from "./transport.ts";
import { type Time, toWire } from "./wire.ts";

/** A schedule as the API answers it. */
export type { ScheduleView };

/** When a schedule submits its task: exactly one of `cron` and `everySeconds`. */
export interface ScheduleRule {
  /** Minute, hour, day of month, month, day of week, as in crontab. */
  cron?: string | null | undefined;
  /** Seconds between two times: a multiple of 60, at least 60. */
  everySeconds?: number | null | undefined;
  /** Time zone of `cron`: an IANA name. Default: UTC. */
  timezone?: string | undefined;
  /** No scheduled time is earlier. Default: no bound. */
  startsAt?: Time | null | undefined;
  /** No scheduled time is later. Default: no bound. */
  endsAt?: Time | null | undefined;
}

interface ScheduledTaskOptions {
  priority?: Tier | undefined;
  maxAttempts?: number | undefined;
  expiresInSeconds?: number | undefined;
  retentionSeconds?: number | undefined;
  tags?: Record<string, string> | undefined;
}

/** The task that a schedule submits. */
export type ScheduledTask<Tasks> = {
  [Name in TaskName<Tasks>]: ScheduledTaskOptions & { type: Name; input: TaskInput<Tasks, Name> };
}[TaskName<Tasks>];

export interface ScheduleChange<Tasks> extends ScheduleRule {
  /** False: it submits nothing. Default: true. */
  enabled?: boolean | undefined;
  /** Rule for a time at which the last task has not ended. Default: `allow`. */
  overlap?: Overlap | undefined;
  /** True: each time without a task counts for the alarm on missed schedules. Default: false. */
  alarm?: boolean | undefined;
  /** The task that each scheduled time submits. */
  task?: ScheduledTask<Tasks> | undefined;
}

export interface NewSchedule<Tasks> extends ScheduleChange<Tasks> {
  /** Unique in the tenant. */
  name: string;
  /** The task that each scheduled time submits. */
  task: ScheduledTask<Tasks>;
}

/** Options of a preview. */
export interface PreviewOptions extends CallOptions {
  /** Default: now. */
  from?: Time | undefined;
  /** Creation of the schedule that gets the rule: an interval without `startsAt` counts from it. Default: `from`. */
  createdAt?: Time | undefined;
  /** Number of times, 1 to 100. Default: 5. */
  count?: number | undefined;
}

/** Calls about schedules. They require the role operator. */
export class Schedules<Tasks> {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options?: CallOptions): List<ScheduleView> {
    return new List(this.#transport, "/schedules", "schedules", {}, options);
  }

  get(scheduleId: string, options?: CallOptions): Promise<ScheduleView> {
    return this.#transport.get(path`/schedules/${scheduleId}`, options);
  }

  /** Creates a schedule. The same name with the same definition returns the existing one. */
  create(schedule: NewSchedule<Tasks>, options?: CallOptions): Promise<ScheduleView> {
    return this.#transport.post("/schedules", bodyOf(schedule), options);
  }

  /**
   * Creates the schedule of a name, or replaces its whole definition: for a program that keeps schedules by names of
   * its own. Nothing is written when it is the same.
   * @example await client.schedules.put("report-of-7", { cron: "0 2 * * *", task: { type: "report.daily", input: {} } });
   */
  put(name: string, schedule: Omit<NewSchedule<Tasks>, "name">, options?: CallOptions): Promise<ScheduleView> {
    const request = { method: "PUT", path: path`/schedules/${`~${name}`}`, body: bodyOf(schedule) } as const;
    return this.#transport.call(request, options);
  }

  /** Changes the given fields. */
  change(scheduleId: string, change: ScheduleChange<Tasks>, options?: CallOptions): Promise<ScheduleView> {
    const request = { method: "PATCH", path: path`/schedules/${scheduleId}`, body: bodyOf(change) } as const;
    return this.#transport.call(request, options);
  }

  /** Deletes a schedule; its tasks stay. */
  async delete(scheduleId: string, options?: CallOptions): Promise<void> {
    try {
      await this.#transport.call({ method: "DELETE", path: path`/schedules/${scheduleId}` }, options);
    } catch (error) {
      if (!refusesRepeat(error, 404)) throw error;
    }
  }

  /** Submits the schedule's task now. */
  run(scheduleId: string, options?: CallOptions & { idempotencyKey?: string }): Promise<SubmittedTask> {
    const headers = { "idempotency-key": options?.idempotencyKey ?? newKey() };
    return this.#transport.post(path`/schedules/${scheduleId}/run`, {}, options, headers);
  }

  /** Returns the next times of a schedule; none while it is paused. `count` is 1 to 100; default: 5. */
  async next(scheduleId: string, { count, ...options }: CallOptions & { count?: number } = {}): Promise<string[]> {
    return (await this.#transport.get<Times>(path`/schedules/${scheduleId}/next`, options, { count })).next;
  }

  /** Returns the next times of a rule. Stores nothing. */
  async preview(rule: ScheduleRule, options: PreviewOptions = {}): Promise<string[]> {
    const { from, createdAt, count, ...callOptions } = options;
    const body = toWire({ ...rule, from, createdAt, count });
    return (await this.#transport.post<Times>("/schedules/preview", body, callOptions)).next;
  }
}

interface Times {
  next: string[];
}

const bodyOf = <Tasks>({ task, ...schedule }: ScheduleChange<Tasks>) => ({
  ...toWire(schedule),
  ...(task && { task: toWire(task) }),
});
