import { Cron } from "croner";
import { lastScheduledMs } from "../../util/time-text.ts";
import { toInstant, toWallTime } from "../../util/time-zone.ts";
import { iso } from "../model/record.ts";
import { type CronFields, parseCron, toAwsCron } from "./cron.ts";

const minuteMs = 60_000;

/** A repeating rule: either `cron` or `every_seconds`. Times are ISO 8601 UTC. */
export interface Rule {
  /** Five fields, as in crontab, in the time zone `timezone`. */
  cron?: string;
  /** Whole minutes. */
  every_seconds?: number;
  timezone: string;
  /** Earliest time. Absent: no bound. */
  starts_at?: string;
  /** All times are before this one. Absent: no bound. */
  ends_at?: string;
}

/**
 * Returns the first time of an interval: the first full minute at or after `starts_at`; without it, the last full
 * minute within one interval after `createdAt`, so that a rule of a year does not fire now.
 */
function firstOfInterval({ starts_at, every_seconds = 0 }: Rule, createdAt: string): number {
  if (starts_at !== undefined) return Math.ceil(Date.parse(starts_at) / minuteMs) * minuteMs;
  return Math.floor((Date.parse(createdAt) + every_seconds * 1000) / minuteMs) * minuteMs;
}

/**
 * Writes the rule as an expression of EventBridge Scheduler.
 * @throws RuleRefused
 */
export function toExpression({ cron, every_seconds = 0 }: Rule): string {
  if (cron !== undefined) return toAwsCron(parseCron(cron));
  const minutes = every_seconds / 60;
  return `rate(${minutes} minute${minutes === 1 ? "" : "s"})`;
}

/**
 * Returns the rule's next times after `after`, at most `count`, in epoch milliseconds. All times that anybody is shown
 * come from here, and so does the start of an interval in EventBridge Scheduler.
 * @param createdAt An interval without `starts_at` counts from this time.
 */
export const nextTimes = (rule: Rule, createdAt: string, after: number, count: number): number[] =>
  timesFrom(rule, firstOfInterval(rule, createdAt), after, count);

/** Returns the rule's first time after `after`, as ISO 8601 UTC. Undefined: there is none. */
export function nextTime(rule: Rule, createdAt: string, after: number): string | undefined {
  const [next] = nextTimes(rule, createdAt, after, 1);
  return next === undefined ? undefined : iso(next);
}

/**
 * Returns the rule's times after `after`, of which `known` is an earlier one, at most `count`: an interval can be
 * counted from each of its times.
 */
export const timesFromKnown = (rule: Rule, known: number, after: number, count: number): number[] =>
  timesFrom(rule, known, Math.max(after, known), count);

/** @param first The first time of an interval. */
function timesFrom(rule: Rule, first: number, after: number, count: number): number[] {
  const start = rule.starts_at === undefined ? after : Math.max(after, Date.parse(rule.starts_at) - 1);
  const end = rule.ends_at === undefined ? lastScheduledMs : Math.min(lastScheduledMs, Date.parse(rule.ends_at));
  const { cron, every_seconds = 0, timezone } = rule;
  const times =
    cron === undefined ? intervalTimes(first, every_seconds * 1000, start) : cronTimes(cron, timezone, start);
  const found: number[] = [];
  if (count === 0) return found;
  for (const time of times) {
    if (time >= end) break;
    if (found.push(time) === count) break;
  }
  return found;
}

function* intervalTimes(first: number, intervalMs: number, after: number): Generator<number> {
  let time = after < first ? first : first + (Math.floor((after - first) / intervalMs) + 1) * intervalMs;
  for (; ; time += intervalMs) yield time;
}

/**
 * Lists the times of a cron rule. The library computes local times without a zone. With a zone, it would move local
 * times that a clock change skips, and repeat those that occur twice. EventBridge Scheduler skips the former and fires
 * once for the latter: here at the first occurrence.
 */
function* cronTimes(cron: string, zone: string, after: number): Generator<number> {
  const calendar = new Cron(plainPattern(parseCron(cron)), { timezone: "UTC" });
  let wallTime = calendar.nextRun(new Date(toWallTime(after, zone)))?.getTime();
  while (wallTime !== undefined) {
    const instant = toInstant(wallTime, zone);
    if (instant !== undefined && instant > after) yield instant;
    wallTime = calendar.nextRun(new Date(wallTime))?.getTime();
  }
}

/** Writes the rule with numbers and lists only, which every cron library understands in the same way. */
function plainPattern(fields: CronFields): string {
  const days = fields.anyDay ? "*" : fields.days.join(",");
  const weekdays = fields.anyWeekday ? "*" : fields.weekdays.join(",");
  return `${fields.minutes.join(",")} ${fields.hours.join(",")} ${days} ${fields.months.join(",")} ${weekdays}`;
}
