/** A crontab rule, as the sets of values that its fields stand for; weekdays count from 0 for Sunday. */
export interface CronFields {
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  weekdays: readonly number[];
  /** Whether the rule leaves the kind of day open, as `*` does. At least one of the two is open. */
  anyDay: boolean;
  anyWeekday: boolean;
}

/** A rule that is refused; the message is the reason, for the caller. */
export class RuleRefused extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "RuleRefused";
  }
}

interface FieldKind {
  name: string;
  least: number;
  most: number;
  /** Names of the values, from `least` on. */
  names?: readonly string[];
}

const weekdayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] as const;
const monthNames = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"] as const;

const minute = { name: "minute", least: 0, most: 59 };
const hour = { name: "hour", least: 0, most: 23 };
const day = { name: "day-of-month", least: 1, most: 31 };
const month = { name: "month", least: 1, most: 12, names: monthNames };
/** 7 is Sunday too. */
const weekday = { name: "day-of-week", least: 0, most: 7, names: weekdayNames };

/** The most days that each month can have. */
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/**
 * Reads the five fields of a crontab line.
 * @throws RuleRefused with the reason: what is no crontab, what EventBridge Scheduler cannot express, and what never fires
 */
export function parseCron(text: string): CronFields {
  const fields = text.trim().split(/\s+/);
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = fields;
  if (fields.length !== 5 || minutes === "") {
    const given = minutes === "" ? 0 : fields.length;
    throw new RuleRefused(`expected five fields (minute hour day-of-month month day-of-week), found ${given}`);
  }
  const parsed = {
    minutes: values(minute, minutes),
    hours: values(hour, hours),
    days: values(day, days),
    months: values(month, months),
    weekdays: sorted(values(weekday, weekdays).map((value) => value % 7)),
  };
  const anyDay = days.startsWith("*") && parsed.days.length === 31;
  const anyWeekday = weekdays.startsWith("*") && parsed.weekdays.length === 7;
  if (!anyDay && !anyWeekday) {
    throw new RuleRefused(
      "day-of-month and day-of-week are both restricted, which crontab reads as one or the other; " +
        "EventBridge Scheduler cannot: make two schedules",
    );
  }
  if (!parsed.months.some((number) => (parsed.days[0] ?? 0) <= (monthDays[number - 1] ?? 0))) {
    throw new RuleRefused("it never fires: no such month has such a day");
  }
  return { ...parsed, anyDay, anyWeekday };
}

/** The values of a list of numbers, names, ranges and steps. */
const values = (kind: FieldKind, field: string): number[] =>
  sorted(field.split(",").flatMap((item) => itemValues(kind, item)));

const sorted = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

function itemValues(kind: FieldKind, item: string): number[] {
  const match = /^(?:(\*)|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:\/(\d+))?$/i.exec(item);
  if (match === null) throw notCron(kind, item);
  const [, star, from = "", to, stepText] = match;
  // A star's 7 would be Sunday once more, and disturb steps.
  if (star !== undefined) return stepped(kind, item, kind.least, kind === weekday ? 6 : kind.most, stepText);
  const first = numberOf(kind, item, from);
  if (to !== undefined) return stepped(kind, item, first, numberOf(kind, item, to), stepText);
  if (stepText === undefined) return [first];
  throw new RuleRefused(`${kind.name}: a step needs * or a range before it, such as ${from}-${kind.most}/${stepText}`);
}

function stepped(kind: FieldKind, item: string, first: number, last: number, stepText = "1"): number[] {
  const step = Number(stepText);
  const most = kind.most - kind.least + 1;
  if (first > last) throw new RuleRefused(`${kind.name}: the range ${JSON.stringify(item)} ends before it starts`);
  if (step < 1 || step > most) throw new RuleRefused(`${kind.name}: expected a step from 1 to ${most}, found ${step}`);
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

function numberOf(kind: FieldKind, item: string, text: string): number {
  const named = kind.names?.indexOf(text.toUpperCase()) ?? -1;
  const number = named >= 0 ? kind.least + named : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= kind.least && number <= kind.most) return number;
  throw notCron(kind, item);
}

function notCron({ name, least, most, names }: FieldKind, item: string): RuleRefused {
  const range = `${least} to ${most}${names === undefined ? "" : `, ${names[0]} to ${names.at(-1)}`}`;
  const hint = /[?#]|^(\d+|[A-Z]{3})?[LW]+$/i.test(item) ? "; L, W, # and ? are not part of crontab" : "";
  return new RuleRefused(`${name}: expected ${range}, lists, ranges and steps, found ${JSON.stringify(item)}${hint}`);
}

/**
 * The same rule as EventBridge Scheduler writes it: six fields, weekdays from 1 for Sunday, and `?` for the kind of day that
 * says nothing. Written out anew from the values, in the forms that AWS documents; at its longest, with two of every three
 * values in each field, it has 238 of the 256 characters that AWS takes.
 */
export function toAwsCron(fields: CronFields): string {
  const byDay = fields.anyWeekday || fields.weekdays.length === 7;
  const written = [
    compact(fields.minutes, minute),
    compact(fields.hours, hour),
    byDay ? compact(fields.days, day) : "?",
    compact(fields.months, month),
    byDay ? "?" : runs(fields.weekdays, (value) => weekdayNames[value] ?? ""),
    "*",
  ];
  return `cron(${written.join(" ")})`;
}

/** `*`, or `start/step` to the end of the field, or ranges and numbers. */
function compact(numbers: readonly number[], { least, most }: FieldKind): string {
  const [first = 0, second = 0] = numbers;
  if (numbers.length === most - least + 1) return "*";
  const step = second - first;
  const regular = numbers.length > 2 && step > 1 && numbers.every((number, index) => number === first + index * step);
  if (regular && first + numbers.length * step > most) return `${first}/${step}`;
  return runs(numbers, String);
}

/** Numbers and ranges, as a list. */
function runs(numbers: readonly number[], show: (value: number) => string): string {
  const found: number[][] = [];
  for (const number of numbers) {
    const run = found.at(-1);
    if (run !== undefined && run.at(-1) === number - 1) run.push(number);
    else found.push([number]);
  }
  return found
    .map((run) => (run.length < 3 ? run.map(show).join(",") : `${show(run[0] ?? 0)}-${show(run.at(-1) ?? 0)}`))
    .join(",");
}
