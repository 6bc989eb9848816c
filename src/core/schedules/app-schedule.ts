import * as z from "zod";
import { checkNow } from "../model/check-now.ts";
import { tenantPattern } from "../model/keys.ts";
import type { Tier } from "../model/words.ts";
import type { Catalog } from "../task/catalog.ts";
import {
  anything,
  type Check,
  type ChecksOf,
  calledAt,
  nameIn,
  oneOf,
  optionsFault,
  text,
} from "../task/check-options.ts";
import { type DefinedTask, namePattern } from "../task/task.ts";
import { schema } from "../task/type-options.ts";
import { nextTimes, type Rule, toExpression } from "./calendar.ts";
import {
  camelCased,
  type Overlap,
  overlaps,
  previewSchema,
  type ScheduledTask,
  taskSchema,
  timeText,
} from "./definition.ts";
import type { AppPayload } from "./rule-input.ts";
import { appScheduleIdOf } from "./schedule-record.ts";

/** A schedule that belongs to the app, as a developer writes it. The deployment creates and removes it. */
export interface ScheduleOptions<Input> {
  /** The schedule's name: lower case words joined by dots, at most 48 characters. */
  name: string;
  /** Five fields, as in crontab: minute hour day-of-month month day-of-week. Either this or `everySeconds`. */
  cron?: string;
  /**
   * Whole minutes in seconds, 60 to 31536000. Either this or `cron`. With `startsAt` its first time is the first full
   * minute then. Without it, it runs at once when a deployment creates it, and counts from that moment.
   */
  everySeconds?: number;
  /**
   * Earliest time, as a date or an ISO text with its offset from UTC. An interval counts from it, also when it has
   * passed: then its first time is the next that follows. Default: no bound.
   * @example "2027-01-01T00:00:00Z"
   */
  startsAt?: Date | string;
  /** Time zone of `cron`: an IANA name. Default: `UTC`. */
  timezone?: string;
  /** The type of the tasks. */
  type: DefinedTask<Input, unknown>;
  /** Input of the tasks; checked when the schedule is defined. */
  input: NoInfer<Input>;
  /** Tier of the tasks. Default: the type's own. */
  priority?: Tier;
  /** Attempts for each task, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Tags of the tasks, at most 10. Default: none. */
  tags?: Record<string, string>;
  /** Each scheduled time submits one task for this tenant. Either this or `forEachTenant`. */
  tenantId?: string;
  /** Each scheduled time submits one task for every known tenant, each with its own retries and dead letter. */
  forEachTenant?: true;
  /**
   * `skip`: a time gets no task while the tenant's last task of this schedule has not ended. It costs two reads and a
   * write more for each tenant and time. Default: `allow`.
   */
  overlap?: Overlap;
  /**
   * The deployment has an alarm of this schedule's own on each time that submits nothing although nobody paused it,
   * also for a single tenant. It costs $0.10 a month, and its metric $0.30 in a month with one of these times. Default:
   * it counts in the alarm of all schedules.
   */
  alarm?: true;
}

/** A schedule of the app, as data. */
export interface AppSchedule extends Rule {
  name: string;
  schedule_id: string;
  task: ScheduledTask;
  /** Absent: one task for each known tenant. */
  tenant_id?: string;
  /** Absent: `allow`. */
  overlap?: "skip";
  /** True: it has an alarm of its own. */
  alarm?: true;
}

/** A rule's name has at most 64 characters, which include a prefix for the app. */
const longestName = 48;

const taskType: Check = (value) =>
  schema((value as { input?: unknown }).input) === undefined
    ? undefined
    : "a task type, the default export of a file in tasks/";

/** The values of most options are checked as those of a client's schedule. */
const scheduleOptions: ChecksOf<ScheduleOptions<unknown>> = {
  ...{ name: text, cron: anything, everySeconds: anything, timezone: text, type: taskType, input: anything },
  ...{ priority: anything, maxAttempts: anything, tags: anything, tenantId: text, forEachTenant: oneOf([true]) },
  ...{ alarm: oneOf([true]), overlap: oneOf(overlaps), startsAt: anything },
};

/**
 * Defines a schedule that belongs to the app. Throws a TypeError immediately when an option is not valid.
 * @example
 * defineSchedule({
 *   name: "report.nightly",
 *   cron: "0 2 * * *",
 *   type: reportDaily,
 *   input: { sections: ["orders"] },
 *   forEachTenant: true,
 * });
 */
export function defineSchedule<Input>(options: ScheduleOptions<Input>): AppSchedule {
  const refuse = (reason: string): never => {
    throw new TypeError(`defineSchedule(${nameIn(options)}): ${reason}${calledAt(defineSchedule)}`);
  };
  const wrong = optionsFault(options, scheduleOptions, { needed: ["name", "type"] });
  if (wrong !== undefined) refuse(wrong);
  const { name, tenantId, forEachTenant } = options;
  if (!namePattern.test(name) || name.length > longestName) {
    refuse(`name must be lower case words joined by '.', '-' or '_', at most ${longestName} characters`);
  }
  if ((tenantId === undefined) === (forEachTenant === undefined)) refuse("expected either tenantId or forEachTenant");
  if (tenantId !== undefined && !tenantPattern.test(tenantId)) refuse(`tenantId must match ${tenantPattern}`);
  const { cron, everySeconds, timezone } = options;
  const rule = previewSchema.safeParse({
    ...{ cron, every_seconds: everySeconds, timezone },
    starts_at: timeText(options.startsAt),
  });
  if (!rule.success) throw refuse(reasonOf(rule.error));
  const task = taskSchema.safeParse({
    type: options.type.name,
    input: options.input,
    priority: options.priority,
    max_attempts: options.maxAttempts,
    tags: options.tags,
  });
  if (!task.success) refuse(reasonOf(task.error));
  const input = checkNow(options.type.input, options.input);
  if (!input.success) refuse(`input.${reasonOf(input.error)}`);
  return {
    name,
    schedule_id: appScheduleIdOf(name),
    ...rule.data.rule,
    task: task.data as ScheduledTask,
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
    ...(options.overlap === "skip" && { overlap: "skip" as const }),
    ...(options.alarm && { alarm: true as const }),
  };
}

const reasonOf = ({ issues: [issue] }: z.ZodError): string => camelCased(`${issue?.path.join(".")}: ${issue?.message}`);

/**
 * Checks the app's schedules together, and returns them.
 * @throws TypeError for two schedules with the same name, and for a task type that the deployment does not accept
 */
export function appSchedules(schedules: readonly AppSchedule[], catalog: Catalog): readonly AppSchedule[] {
  const names = new Set<string>();
  for (const { name, task } of schedules) {
    if (names.has(name)) throw new TypeError(`two schedules are named ${name}: give each its own name`);
    if (!catalog.some((entry) => entry.name === task.type)) {
      throw new TypeError(
        `the schedule ${name} submits ${task.type}, which is not a task type of this app: ` +
          `expected a file tasks/${task.type}.ts; add it, or remove the schedule from tasks/schedules.ts`,
      );
    }
    names.add(name);
  }
  return schedules;
}

/** The parts of an app schedule's rule in EventBridge Scheduler. */
export const appRule = (schedule: AppSchedule) => ({
  ...timesOf(schedule),
  payload: { kind: "app_schedule", name: schedule.name } satisfies AppPayload,
});

/**
 * An interval with a start is a cron rule of times of the day, among which are all of the interval: fire passes over
 * the others. A rate would need a `StartDate`, and AWS refuses a past one: the template would change with each
 * synthesis, and a deployment that waits for its approval would fail.
 */
function timesOf(schedule: AppSchedule): { expression: string; timezone: string } {
  const { every_seconds, timezone } = schedule;
  const [first] = every_seconds === undefined ? [] : startOfInterval(schedule);
  if (every_seconds === undefined || first === undefined) return { expression: toExpression(schedule), timezone };
  const cron = cronAround(first / 60_000, every_seconds / 60);
  return { expression: toExpression({ cron, timezone: "UTC" }), timezone: "UTC" };
}

const hourMinutes = 60;
const dayHours = 24;

/** Writes the shortest crontab rule in UTC that has all times of an interval. Both arguments are in minutes. */
function cronAround(first: number, interval: number): string {
  const step = greatestDivisor(interval, hourMinutes);
  if (step < hourMinutes) return `${listOf(first % step, step, hourMinutes)} * * * *`;
  const hours = greatestDivisor(interval / hourMinutes, dayHours);
  return `${first % hourMinutes} ${listOf(Math.floor(first / hourMinutes) % hours, hours, dayHours)} * * *`;
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

const listOf = (first: number, step: number, end: number): string =>
  Array.from({ length: (end - first) / step + 1 }, (_, index) => first + index * step)
    .filter((value) => value < end)
    .join(",");

/** The first time of an interval with a start, in epoch milliseconds. Empty: it has no start. */
const startOfInterval = (schedule: AppSchedule): number[] =>
  schedule.starts_at === undefined ? [] : nextTimes(schedule, schedule.starts_at, 0, 1);

/** Returns why a firing's time is none of the schedule; undefined when it is. */
export function notATimeOf(schedule: AppSchedule, at: string): string | undefined {
  const { starts_at = at, every_seconds } = schedule;
  if (at < starts_at) return "it is before startsAt";
  const [first] = every_seconds === undefined ? [] : startOfInterval(schedule);
  if (every_seconds === undefined || first === undefined) return undefined;
  return (Date.parse(at) - first) % (every_seconds * 1000) === 0
    ? undefined
    : "it is between two times of the interval";
}

const appScheduleSchema = z.array(
  z.object({
    name: z.string(),
    schedule_id: z.string(),
    cron: z.string().optional(),
    every_seconds: z.number().optional(),
    timezone: z.string(),
    starts_at: z.string().optional(),
    task: taskSchema,
    tenant_id: z.string().optional(),
    overlap: z.literal("skip").optional(),
    alarm: z.literal(true).optional(),
  }),
);

/** Parses the file with the app's schedules that is deployed next to fire's bundle. Returns them by name. */
export const parseAppSchedules = (text: string): ReadonlyMap<string, AppSchedule> =>
  new Map(
    appScheduleSchema.parse(JSON.parse(text)).map((schedule) => [schedule.name, schedule as AppSchedule] as const),
  );
