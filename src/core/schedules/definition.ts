import * as z from "zod";
import { isTimeZone } from "../../util/time-zone.ts";
import { halfCharacter } from "../model/idempotency.ts";
import { iso } from "../model/record.ts";
import { submitFields, timeSchema } from "../pipeline/submit/submit-body.ts";
import { type Rule, toExpression } from "./calendar.ts";
import { RuleRefused } from "./cron.ts";

/** Rule for a scheduled time while the last task has not ended: submit another task, or skip the time. */
export const overlaps = ["allow", "skip"] as const;
export type Overlap = (typeof overlaps)[number];

/** The task that a schedule submits: the body of a submit without `delay_seconds` and `run_at`. */
export type ScheduledTask = z.output<typeof taskSchema>;

/** A schedule as a client defines it. */
export interface ScheduleDefinition extends Rule {
  name: string;
  enabled: boolean;
  overlap: Overlap;
  /** Each time without a task counts for the alarm on missed schedules. */
  alarm?: true;
  task: ScheduledTask;
}

const isoTime = timeSchema.transform(iso);

/** The fields of a rule; null is the same as leaving one out. */
const ruleFields = {
  cron: z.string().max(1024).nullish(),
  every_seconds: z.int().min(60).max(31_536_000).multipleOf(60).nullish(),
  timezone: z
    .string()
    .max(50)
    .refine(isTimeZone, "expected an IANA time zone, such as Europe/Berlin or UTC")
    .default("UTC"),
  starts_at: isoTime.nullish(),
  ends_at: isoTime.nullish(),
};

/**
 * An upload belongs to one task, so the tasks of a schedule have no files. Nor are they unique: each scheduled time has
 * a task of its own, and `overlap` says what happens while the last one has not ended.
 */
const { delay_seconds: _, run_at: __, files: ___, callback: ____, unique: _____, ...taskFields } = submitFields;
export const taskSchema = z.strictObject(taskFields);

const definitionFields = {
  name: z
    .string()
    .regex(/^\P{Cc}{1,128}$/u, "expected 1 to 128 characters without control characters")
    .refine((name) => name.isWellFormed(), halfCharacter),
  enabled: z.boolean().default(true),
  overlap: z.enum(overlaps).default("allow"),
  alarm: z.boolean().default(false),
  task: taskSchema,
  ...ruleFields,
};

interface GivenRule {
  cron?: string | null | undefined;
  every_seconds?: number | null | undefined;
  timezone: string;
  starts_at?: string | null | undefined;
  ends_at?: string | null | undefined;
}

/**
 * Checks the fields together: exactly one kind of rule, which EventBridge Scheduler supports, and its times in order.
 */
function checkRule(rule: GivenRule, context: z.RefinementCtx): void {
  const refuse = (field: keyof GivenRule, message: string) =>
    context.addIssue({ code: "custom", path: [field], message });
  const { cron, every_seconds, starts_at, ends_at } = rule;
  if ((cron ?? undefined) === undefined && (every_seconds ?? undefined) === undefined) {
    refuse("cron", "expected cron or every_seconds");
  } else if (typeof cron === "string" && typeof every_seconds === "number") {
    refuse("cron", "expected either cron or every_seconds, not both");
  } else {
    const reason = refusal(ruleOf(rule));
    if (reason !== undefined) refuse("cron", reason);
  }
  if (typeof starts_at === "string" && typeof ends_at === "string" && ends_at <= starts_at) {
    refuse("ends_at", "expected a time after starts_at");
  }
}

function refusal(rule: Rule): string | undefined {
  try {
    toExpression(rule);
    return undefined;
  } catch (error) {
    if (error instanceof RuleRefused) return error.message;
    throw error;
  }
}

/** Returns the rule in a request's fields. */
export const ruleOf = ({ cron, every_seconds, timezone, starts_at, ends_at }: GivenRule): Rule => ({
  ...(typeof cron === "string" ? { cron } : {}),
  ...(typeof every_seconds === "number" ? { every_seconds } : {}),
  timezone,
  ...(typeof starts_at === "string" ? { starts_at } : {}),
  ...(typeof ends_at === "string" ? { ends_at } : {}),
});

/** The body of a create. */
export const definitionSchema = z
  .strictObject(definitionFields)
  .superRefine(checkRule)
  .transform((given): ScheduleDefinition => {
    const { name, enabled, overlap, alarm, task } = given;
    return { name, enabled, overlap, ...(alarm && { alarm }), task, ...ruleOf(given) };
  });

/** The body of a create or change by name: all of it, with the name only as it is in the path. */
export const namedSchema = z.strictObject({ ...definitionFields, name: definitionFields.name.optional() });

/** The body of a change: only the fields to replace. `name` is not allowed, as the id is derived from it. */
export const changeSchema = z.strictObject({
  ...ruleFields,
  timezone: ruleFields.timezone.unwrap().optional(),
  enabled: z.boolean().optional(),
  overlap: z.enum(overlaps).optional(),
  alarm: z.boolean().optional(),
  task: taskSchema.optional(),
});

/**
 * The body of a preview: a rule, the time to start from, the number of times, and the creation of the schedule that
 * gets the rule, from which an interval counts.
 */
export const previewSchema = z
  .strictObject({
    ...ruleFields,
    ...{ from: isoTime.optional(), created_at: isoTime.optional(), count: z.int().min(1).max(100).optional() },
  })
  .superRefine(checkRule)
  .transform((given) => {
    const { from, created_at, count } = given;
    return { rule: ruleOf(given), from, created_at, count };
  });

/** Names the options as they are written in code: `everySeconds`, where the API has `every_seconds`. */
export const camelCased = (text: string): string =>
  text.replaceAll(
    /\b([a-z]+)_([a-z])([a-z]+)\b/g,
    (_, first, letter, rest) => `${first}${letter.toUpperCase()}${rest}`,
  );

/** The text of a time that an author gives. What is no date is left for the schema to refuse. */
export const timeText = (time: unknown): unknown =>
  time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : time;
