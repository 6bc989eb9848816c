import { Cron } from "croner";
import { offsetAt, toInstant, toWallTime } from "../../util/time-zone.ts";

/** The times at which a schedule fires, in epoch milliseconds. */
export interface Rule {
  /** True when there is only one time. */
  once: boolean;
  /** The first time after the given time. Returns undefined when there is no later one. */
  next(after: number): number | undefined;
  /** The last time up to and including the given time. Returns undefined when there is no earlier one. */
  latest(until: number): number | undefined;
}

/** Thrown for a schedule expression that AWS refuses. */
export class InvalidRule extends Error {
  constructor(expression: string, options?: ErrorOptions) {
    super(`Invalid Schedule Expression ${expression}.`, options);
    this.name = "InvalidRule";
  }
}

const dayMs = 86_400_000;
const unitMs: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: dayMs };

/**
 * Parses `at(...)`, `rate(...)` or `cron(...)` as EventBridge Scheduler does. Rates count from `start`.
 * @throws InvalidRule
 */
export function parseRule(expression: string, zone: string, start: number): Rule {
  try {
    toWallTime(0, zone);
  } catch (cause) {
    throw new InvalidRule(`Timezone ${zone}`, { cause });
  }
  const [, kind, argument = ""] = /^(at|rate|cron)\((.*)\)$/.exec(expression) ?? [];
  const rule =
    kind === "at" ? at(argument, zone) : kind === "rate" ? rate(argument, start) : kind && cron(argument, zone);
  if (!rule) throw new InvalidRule(expression);
  return rule;
}

function at(time: string, zone: string): Rule | undefined {
  const wallTime = /^\d{4}(-\d\d){2}T\d\d(:\d\d){2}$/.test(time) ? Date.parse(`${time}Z`) : Number.NaN;
  // Date.parse turns February 30 into March 2.
  if (Number.isNaN(wallTime) || !new Date(wallTime).toISOString().startsWith(time)) return undefined;
  // A local time that a clock change skips counts as if the clocks had not changed.
  const only = toInstant(wallTime, zone) ?? wallTime - offsetAt(wallTime - dayMs, zone);
  return {
    once: true,
    next: (after) => (only > after ? only : undefined),
    latest: (until) => (only <= until ? only : undefined),
  };
}

function rate(argument: string, start: number): Rule | undefined {
  const [, value, unit = ""] = /^([1-9]\d*) (minute|hour|day)s?$/.exec(argument) ?? [];
  const interval = Number(value) * (unitMs[unit] ?? Number.NaN);
  if (Number.isNaN(interval)) return undefined;
  return {
    once: false,
    next: (after) => (after < start ? start : start + (Math.floor((after - start) / interval) + 1) * interval),
    latest: (until) => (until < start ? undefined : start + Math.floor((until - start) / interval) * interval),
  };
}

/** The values that AWS documents for each field: minute, hour, day of month, month, day of week, year. */
const fieldPatterns = [
  /^[\d,*/-]+$/,
  /^[\d,*/-]+$/,
  /^([\d,*/-]+|\?|L|LW|\d+W)$/,
  /^([\d,*/-]|[A-Z]{3})+$/i,
  /^(([1-7,*-]|[A-Z]{3})+|\?|L|([1-7]|[A-Z]{3})(L|#[1-5]))$/i,
  /^[\d,*/-]+$/,
];

/**
 * A local time that a clock change skips does not fire. A local time that occurs twice fires at its first occurrence.
 */
function cron(argument: string, zone: string): Rule | undefined {
  const calendar = toCalendar(argument);
  if (calendar === undefined) return undefined;
  return {
    once: false,
    next(after) {
      let wallTime = calendar.nextRun(new Date(toWallTime(after, zone)))?.getTime();
      while (wallTime !== undefined) {
        const instant = toInstant(wallTime, zone);
        if (instant !== undefined && instant > after) return instant;
        wallTime = calendar.nextRun(new Date(wallTime))?.getTime();
      }
      return undefined;
    },
    latest(until) {
      // Without the added second, the library leaves out a time in the same second as `until`.
      let wallTime = calendar.previousRuns(1, new Date(toWallTime(until, zone) + 1000))[0]?.getTime();
      while (wallTime !== undefined) {
        const instant = toInstant(wallTime, zone);
        if (instant !== undefined) return instant;
        wallTime = calendar.previousRuns(1, new Date(wallTime))[0]?.getTime();
      }
      return undefined;
    },
  };
}

/** The rule's local times, without a time zone and clock changes. Returns undefined when AWS would refuse the rule. */
function toCalendar(argument: string): Cron | undefined {
  const fields = argument.trim().split(/\s+/);
  const [minute, hour, dayOfMonth = "", month, dayOfWeek = "", year] = fields;
  if (fields.length !== 6 || fields.some((field, index) => !fieldPatterns[index]?.test(field))) return undefined;
  // Exactly one of the two day fields must be `?`.
  if ((dayOfMonth === "?") === (dayOfWeek === "?")) return undefined;
  const weekday = dayOfWeek === "L" ? "7" : dayOfWeek.replace("?", "*");
  const pattern = `0 ${minute} ${hour} ${dayOfMonth.replace("?", "*")} ${month} ${weekday} ${year}`;
  try {
    return new Cron(pattern, { mode: "7-part", alternativeWeekdays: true, sloppyRanges: true, timezone: "UTC" });
  } catch {
    return undefined;
  }
}
