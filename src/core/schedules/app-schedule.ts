import * as z from "zod";
import type { Catalog } from "../catalog.ts";
import { tenantPattern } from "../keys.ts";
import { type DefinedTask, namePattern } from "../task.ts";
import type { Tier } from "../tier.ts";
import { type Rule, toExpression } from "./calendar.ts";
import { previewSchema, ruleOf, type ScheduledTask, taskSchema } from "./definition.ts";
import type { AppPayload } from "./rule-input.ts";
import { appScheduleIdOf } from "./schedule-record.ts";

/** What a developer writes: a schedule that belongs to the app, created by its deployment and removed with it. */
export interface ScheduleOptions<Input> {
  /** The schedule's name: lower case words joined by dots, up to 48 characters. */
  name: string;
  /** Five fields, as in crontab: minute hour day-of-month month day-of-week. Either this or `everySeconds`. */
  cron?: string;
  /** Whole minutes in seconds, 60 to 31536000, counted from the deployment. Either this or `cron`. */
  everySeconds?: number;
  /** On which clocks `cron` is meant: an IANA name. Default: `UTC`. */
  timezone?: string;
  /** The type of the tasks. */
  type: DefinedTask<Input, unknown>;
  /** Their input; checked when the schedule is defined. */
  input: NoInfer<Input>;
  /** Their tier. Default: the type's own. */
  priority?: Tier;
  /** How many attempts each gets, 1 to 20. Default: the type's own. */
  maxAttempts?: number;
  /** Their tags, at most 10. Default: none. */
  tags?: Record<string, string>;
  /** Whose task it is: each time submits one for this tenant. Either this or `forEachTenant`. */
  tenantId?: string;
  /** Each time submits one task for every known tenant, each with retries and a dead letter of its own. */
  forEachTenant?: true;
}

/** A schedule of the app, as data. */
export interface AppSchedule extends Rule {
  name: string;
  schedule_id: string;
  task: ScheduledTask;
  /** Absent: one task for each known tenant. */
  tenant_id?: string;
}

/** A rule's name has at most 64 characters, some of which say that it is one of the app. */
const longestName = 48;

/**
 * Defines a schedule that belongs to the app. Throws at once, with what was given and what is allowed, when it cannot work.
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
  const { name, tenantId, forEachTenant } = options;
  const refuse = (what: string) => {
    throw new TypeError(`defineSchedule(${JSON.stringify(name)}): ${what}`);
  };
  if (!namePattern.test(name) || name.length > longestName) {
    refuse(`name must be lower case words joined by '.', '-' or '_', at most ${longestName} characters`);
  }
  if ((tenantId === undefined) === (forEachTenant === undefined)) refuse("expected either tenantId or forEachTenant");
  if (tenantId !== undefined && !tenantPattern.test(tenantId)) refuse(`tenantId must match ${tenantPattern}`);
  const { cron, everySeconds, timezone } = options;
  const rule = previewSchema.safeParse({ cron, every_seconds: everySeconds, timezone });
  if (!rule.success) refuse(reasonOf(rule.error));
  const task = taskSchema.safeParse({
    type: options.type.name,
    input: options.input,
    priority: options.priority,
    max_attempts: options.maxAttempts,
    tags: options.tags,
  });
  if (!task.success) refuse(reasonOf(task.error));
  const input = options.type.input.safeParse(options.input);
  if (!input.success) refuse(`input.${reasonOf(input.error)}`);
  return {
    name,
    schedule_id: appScheduleIdOf(name),
    ...ruleOf({ cron, every_seconds: everySeconds, timezone: timezone ?? "UTC" }),
    task: task.data as ScheduledTask,
    ...(tenantId === undefined ? {} : { tenant_id: tenantId }),
  };
}

const reasonOf = ({ issues: [issue] }: z.ZodError): string => `${issue?.path.join(".")}: ${issue?.message}`;

/**
 * The app's schedules, checked together.
 * @throws TypeError for two of one name, and for a task type that the deployment does not accept
 */
export function appSchedules(schedules: readonly AppSchedule[], catalog: Catalog): readonly AppSchedule[] {
  const names = new Set<string>();
  for (const { name, task } of schedules) {
    if (names.has(name)) throw new TypeError(`two schedules are named ${name}`);
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

/** What EventBridge Scheduler is told of it. */
export const appRule = (schedule: AppSchedule) => ({
  expression: toExpression(schedule),
  timezone: schedule.timezone,
  payload: { kind: "app_schedule", name: schedule.name } satisfies AppPayload,
});

const appScheduleSchema = z.array(
  z.object({
    name: z.string(),
    schedule_id: z.string(),
    cron: z.string().optional(),
    every_seconds: z.number().optional(),
    timezone: z.string(),
    task: taskSchema,
    tenant_id: z.string().optional(),
  }),
);

/** Reads the app's schedules as they were written beside fire's bundle, by name. */
export const parseAppSchedules = (text: string): ReadonlyMap<string, AppSchedule> =>
  new Map(
    appScheduleSchema.parse(JSON.parse(text)).map((schedule) => [schedule.name, schedule as AppSchedule] as const),
  );
