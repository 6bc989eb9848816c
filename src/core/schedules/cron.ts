/** A crontab rule as sets of values, one for each field. Weekdays are 0 (Sunday) to 6. */
export interface CronFields {
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  weekdays: readonly number[];
  /** True when the field of days, or of weekdays, allows all its values. At least one of the two is true. */
  anyDay: boolean;
  anyWeekday: boolean;
}

/** A refused rule. The message is the reason, and may be shown to the client. */
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
/** 0 and 7 are both Sunday. */
const weekday = { name: "day-of-week", least: 0, most: 7, names: weekdayNames };

/** Maximum number of days of each month. */
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/**
 * Reads the five fields of a crontab line.
 * @throws RuleRefused for text that is not crontab, rules that EventBridge Scheduler cannot express, and rules that never fire
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
      "day-of-month and day-of-week are both restricted: crontab means days that match either field, " +
        "which EventBridge Scheduler does not support; create two schedules",
    );
  }
  if (!parsed.months.some((number) => (parsed.days[0] ?? 0) <= (monthDays[number - 1] ?? 0))) {
    throw new RuleRefused("the rule never fires: none of its months has such a day");
  }
  return { ...parsed, anyDay, anyWeekday };
}

/** Returns the values of a field: a list of numbers, names, ranges and steps. */
const values = (kind: FieldKind, field: string): number[] =>
  sorted(field.split(",").flatMap((item) => itemValues(kind, item)));

const sorted = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

function itemValues(kind: FieldKind, item: string): number[] {
  const match = /^(?:(\*)|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:\/(\d+))?$/i.exec(item);
  if (match === null) throw notCron(kind, item);
  const [, star, from = "", to, stepText] = match;
  // `*` ends at 6: a second Sunday, 7, would shift the steps.
  if (star !== undefined) return stepped(kind, item, kind.least, kind === weekday ? 6 : kind.most, stepText);
  const first = numberOf(kind, item, from);
  if (to !== undefined) return stepped(kind, item, first, numberOf(kind, item, to), stepText);
  if (stepText === undefined) return [first];
  throw new RuleRefused(
    `${kind.name}: expected * or a range before the step, such as ${from}-${kind.most}/${stepText}`,
  );
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
  return new RuleRefused(
    `${name}: expected ${range}, or a list, range or step of these, found ${JSON.stringify(item)}${hint}`,
  );
}

/**
 * Writes the rule for EventBridge Scheduler: six fields, weekdays by name, as AWS counts them from 1, and `?` for the kind of
 * day without restriction. It is built from the values, in the forms that AWS documents. The longest rule has two of every
 * three values in each field: 238 characters, of 256 that AWS accepts.
 */
export function toAwsCron(fields: CronFields): string {
  const byDay = fields.anyWeekday || fields.weekdays.length === 7;
  const written = [
    compact(fields.minutes, minute),
    compact(fields.hours, hour),
    byDay ? compact(fields.days, day) : "?",
    compact(fields.months, month),
    byDay ? "?" : ranges(fields.weekdays, (value) => weekdayNames[value] ?? ""),
    "*",
  ];
  return `cron(${written.join(" ")})`;
}

/** Writes values as `*`, as `start/step` up to the end of the field, or as numbers and ranges. */
function compact(numbers: readonly number[], { least, most }: FieldKind): string {
  const [first = 0, second = 0] = numbers;
  if (numbers.length === most - least + 1) return "*";
  const step = second - first;
  const regular = numbers.length > 2 && step > 1 && numbers.every((number, index) => number === first + index * step);
  if (regular && first + numbers.length * step > most) return `${first}/${step}`;
  return ranges(numbers, String);
}

/** Writes values as a list of numbers and ranges. */
function ranges(numbers: readonly number[], show: (value: number) => string): string {
  const found: number[][] = [];
  for (const number of numbers) {
    const range = found.at(-1);
    if (range !== undefined && range.at(-1) === number - 1) range.push(number);
    else found.push([number]);
  }
  return found
    .map((range) =>
      range.length < 3 ? range.map(show).join(",") : `${show(range[0] ?? 0)}-${show(range.at(-1) ?? 0)}`,
    )
    .join(",");
}
