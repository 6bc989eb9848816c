import { Cron } from "croner";
import { iso } from "../record.ts";
import { type CronFields, parseCron, toAwsCron } from "./cron.ts";
import { toInstant, toWallTime } from "./time-zone.ts";

const minuteMs = 60_000;

/** When something happens again and again: by `cron` or by `every_seconds`, one of the two. Times are ISO 8601 UTC. */
export interface Rule {
  /** Five fields, as in crontab, on the clocks of `timezone`. */
  cron?: string;
  /** Whole minutes. */
  every_seconds?: number;
  timezone: string;
  /** No time before this one. Absent: no bound. */
  starts_at?: string;
  /** No time at or after this one. Absent: no bound. */
  ends_at?: string;
}

/** The first time of a rate: the first full minute at `starts_at` or later, or after the schedule's creation. */
export function rateStart(rule: Rule, createdAt: string): number {
  const from = rule.starts_at === undefined ? Date.parse(createdAt) + 1 : Date.parse(rule.starts_at);
  return Math.ceil(from / minuteMs) * minuteMs;
}

/**
 * The rule in EventBridge Scheduler's own language.
 * @throws RuleRefused
 */
export function toExpression({ cron, every_seconds = 0 }: Rule): string {
  if (cron !== undefined) return toAwsCron(parseCron(cron));
  const minutes = every_seconds / 60;
  return `rate(${minutes} minute${minutes === 1 ? "" : "s"})`;
}

/**
 * The rule's next times after a moment, at most `count`, in epoch milliseconds.
 * @param createdAt From when on a rate without `starts_at` counts.
 */
export function nextTimes(rule: Rule, createdAt: string, after: number, count: number): number[] {
  const start = rule.starts_at === undefined ? after : Math.max(after, Date.parse(rule.starts_at) - 1);
  const end = rule.ends_at === undefined ? Number.POSITIVE_INFINITY : Date.parse(rule.ends_at);
  const times =
    rule.cron === undefined ? rateTimes(rule, createdAt, start) : cronTimes(rule.cron, rule.timezone, start);
  const found: number[] = [];
  if (count === 0) return found;
  for (const time of times) {
    if (time >= end) break;
    if (found.push(time) === count) break;
  }
  return found;
}

/** The first time after a moment, as ISO 8601 UTC. Undefined: there is none. */
export function nextTime(rule: Rule, createdAt: string, after: number): string | undefined {
  const [next] = nextTimes(rule, createdAt, after, 1);
  return next === undefined ? undefined : iso(next);
}

function* rateTimes({ every_seconds = 60, ...rule }: Rule, createdAt: string, after: number): Generator<number> {
  const first = rateStart(rule, createdAt);
  const interval = every_seconds * 1000;
  let time = after < first ? first : first + (Math.floor((after - first) / interval) + 1) * interval;
  for (; ; time += interval) yield time;
}

/**
 * The library walks the calendar as clocks show it, with no zone: given one, it would move a time that the clocks skip, and
 * repeat one that they show twice. EventBridge Scheduler skips the former, and runs the latter once: here the first time.
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

/** The rule in numbers and lists alone, which no two readers of cron understand differently. */
function plainPattern(fields: CronFields): string {
  const days = fields.anyDay ? "*" : fields.days.join(",");
  const weekdays = fields.anyWeekday ? "*" : fields.weekdays.join(",");
  return `${fields.minutes.join(",")} ${fields.hours.join(",")} ${days} ${fields.months.join(",")} ${weekdays}`;
}
