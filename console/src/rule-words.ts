import { type CronFields, parseCron } from "../../src/core/schedules/cron.ts";
import { type ClockChange, changeText, minuteMs } from "./zones.ts";

/** When a schedule submits its task, as the API has it. */
export interface Rule {
  cron?: string | null | undefined;
  every_seconds?: number | null | undefined;
  timezone: string;
  starts_at?: string | null | undefined;
  ends_at?: string | null | undefined;
  /** For a preview: creation of the schedule that has the rule. */
  created_at?: string | null | undefined;
}

const weekdayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const monthNames = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

const two = (value: number): string => String(value).padStart(2, "0");

/** `a, b and c` */
function listed(texts: readonly string[]): string {
  if (texts.length < 2) return texts.join("");
  return `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}

/** The distance of values that are evenly spaced over the whole range from 0. Undefined: they are not. */
function stepOf(values: readonly number[], range: number): number | undefined {
  const step = range / values.length;
  return values.every((value, index) => value === index * step) ? step : undefined;
}

/** Values of which each follows on the one before it. */
const isRange = (values: readonly number[]): boolean =>
  values.length > 2 && values.every((value, index) => value === (values[0] ?? 0) + index);

/** A rule in words: `at 02:30, Monday to Friday`. Empty: it cannot be read. */
export function ruleWords({ cron, every_seconds }: Pick<Rule, "cron" | "every_seconds">): string {
  if (typeof every_seconds === "number") return intervalWords(every_seconds / 60);
  try {
    const fields = parseCron(cron ?? "");
    return [clockWords(fields), dayWords(fields), monthWords(fields)].filter((text) => text !== "").join(", ");
  } catch {
    return "";
  }
}

function intervalWords(minutes: number): string {
  if (minutes % 60 !== 0) return minutes === 1 ? "every minute" : `every ${minutes} minutes`;
  return minutes === 60 ? "every hour" : `every ${minutes / 60} hours`;
}

/** The times of the clock. */
function clockWords({ minutes, hours }: CronFields): string {
  if (minutes.length * hours.length <= 4) {
    return `at ${listed(hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`)))}`;
  }
  const [first = 0] = minutes;
  const step = stepOf(minutes, 60);
  if (minutes.length === 1) {
    const hourStep = stepOf(hours, 24);
    if (hourStep === undefined) return `at minute ${first} of ${hourWords(hours)}`;
    return `${intervalWords(hourStep * 60)}${first === 0 ? "" : ` at minute ${first}`}`;
  }
  const within = hours.length === 24 ? "" : isRange(hours) ? ` ${hourRange(hours)}` : ` of ${hourWords(hours)}`;
  if (step !== undefined) return `${intervalWords(step)}${within}`;
  return `at the minutes ${listed(minutes.map(String))}${hours.length === 24 ? " of every hour" : within}`;
}

const hourRange = (hours: readonly number[]): string => `from ${two(hours[0] ?? 0)}:00 to ${two(hours.at(-1) ?? 0)}:59`;

function hourWords(hours: readonly number[]): string {
  const step = stepOf(hours, 24);
  if (step !== undefined) return `every ${step} hours`;
  if (isRange(hours)) return `each hour from ${hours[0]} to ${hours.at(-1)}`;
  return `the hours ${listed(hours.map(String))}`;
}

function dayWords({ days, weekdays, anyDay, anyWeekday }: CronFields): string {
  if (!anyWeekday) {
    const names = weekdays.map((day) => weekdayNames[day] ?? "");
    return isRange(weekdays) ? `${names[0]} to ${names.at(-1)}` : listed(names);
  }
  if (anyDay) return "every day";
  const text = isRange(days) ? `${days[0]} to ${days.at(-1)}` : listed(days.map(String));
  return `on day ${text} of the month`;
}

function monthWords({ months }: CronFields): string {
  if (months.length === 12) return "";
  const names = months.map((month) => monthNames[month - 1] ?? "");
  return `in ${isRange(months) ? `${names[0]} to ${names.at(-1)}` : listed(names)}`;
}

/** Local times of a cron rule within a clock change, as `02:30`. */
function timesWithin(fields: CronFields, { fromWallMs, toWallMs }: ClockChange): string[] {
  const found: string[] = [];
  for (let wall = fromWallMs; wall < toWallMs; wall += minuteMs) {
    const time = new Date(wall);
    const isDay =
      fields.days.includes(time.getUTCDate()) &&
      fields.weekdays.includes(time.getUTCDay()) &&
      fields.months.includes(time.getUTCMonth() + 1);
    if (isDay && fields.hours.includes(time.getUTCHours()) && fields.minutes.includes(time.getUTCMinutes())) {
      found.push(time.toISOString().slice(11, 16));
    }
  }
  return found;
}

/**
 * The effect of a clock change on a rule:
 * `clocks go forward from 02:00 to 03:00: 02:30 does not exist, and submits nothing`.
 */
export function changeEffect(rule: Pick<Rule, "cron">, change: ClockChange): string {
  const times = affected(rule.cron, change);
  const text = changeText(change);
  if (times.length === 0) return text;
  const shown = times.length > 4 ? `${times[0]} to ${times.at(-1)}` : listed(times);
  const isOne = times.length === 1;
  return change.byMs > 0
    ? `${text}: ${shown} ${isOne ? "does not exist, and submits" : "do not exist, and submit"} nothing`
    : `${text}: ${shown} ${isOne ? "comes" : "come"} twice, and ${isOne ? "submits" : "submit"} once`;
}

function affected(cron: string | null | undefined, change: ClockChange): string[] {
  try {
    return typeof cron === "string" ? timesWithin(parseCron(cron), change) : [];
  } catch {
    return [];
  }
}
