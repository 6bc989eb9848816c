import { Cron } from "croner";
import { offsetAt, toInstant, toWallTime } from "../../core/schedules/time-zone.ts";

/** When a schedule fires; all times in epoch milliseconds. */
export interface Rule {
  /** Whether there is only one time. */
  once: boolean;
  /** The first time after this one. Undefined: there is none. */
  next(after: number): number | undefined;
  /** The last time up to and including this one. Undefined: there is none. */
  latest(until: number): number | undefined;
}

/** A schedule expression that AWS would refuse. */
export class InvalidRule extends Error {
  constructor(expression: string, options?: ErrorOptions) {
    super(`Invalid Schedule Expression ${expression}.`, options);
    this.name = "InvalidRule";
  }
}

const dayMs = 86_400_000;
const unitMs: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: dayMs };

/**
 * Reads `at(...)`, `rate(...)` or `cron(...)` as EventBridge Scheduler does. Rates count from `start`.
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
  // Dates such as February 30 roll over.
  if (Number.isNaN(wallTime) || !new Date(wallTime).toISOString().startsWith(time)) return undefined;
  // A time that the clocks skip comes as late as if they had not been put forward.
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

/** What AWS documents for each field: minute, hour, day of month, month, day of week, year. */
const fieldPatterns = [
  /^[\d,*/-]+$/,
  /^[\d,*/-]+$/,
  /^([\d,*/-]+|\?|L|LW|\d+W)$/,
  /^([\d,*/-]|[A-Z]{3})+$/i,
  /^(([1-7,*-]|[A-Z]{3})+|\?|L|([1-7]|[A-Z]{3})(L|#[1-5]))$/i,
  /^[\d,*/-]+$/,
];

/** Local times that the clocks skip are skipped; those that they show twice count once, the first time. */
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
      // A run in the very second of the reference would be left out.
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

/** The days and times of the rule, with no zone and no changes of clocks. */
function toCalendar(argument: string): Cron | undefined {
  const fields = argument.trim().split(/\s+/);
  const [minute, hour, dayOfMonth = "", month, dayOfWeek = "", year] = fields;
  if (fields.length !== 6 || fields.some((field, index) => !fieldPatterns[index]?.test(field))) return undefined;
  // Exactly one of the two kinds of day says something.
  if ((dayOfMonth === "?") === (dayOfWeek === "?")) return undefined;
  const weekday = dayOfWeek === "L" ? "7" : dayOfWeek.replace("?", "*");
  const pattern = `0 ${minute} ${hour} ${dayOfMonth.replace("?", "*")} ${month} ${weekday} ${year}`;
  try {
    return new Cron(pattern, { mode: "7-part", alternativeWeekdays: true, sloppyRanges: true, timezone: "UTC" });
  } catch {
    return undefined;
  }
}
