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
  min: number;
  max: number;
  /** Names of the values, from `min` on. */
  names?: readonly string[];
}

const weekdayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] as const;
const monthNames = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"] as const;

const minute = { name: "minute", min: 0, max: 59 };
const hour = { name: "hour", min: 0, max: 23 };
const day = { name: "day-of-month", min: 1, max: 31 };
const month = { name: "month", min: 1, max: 12, names: monthNames };
/** 0 and 7 are both Sunday. */
const weekday = { name: "day-of-week", min: 0, max: 7, names: weekdayNames };

/** Maximum number of days of each month. */
const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/**
 * Reads the five fields of a crontab line.
 * @throws RuleRefused for text that is not crontab, rules that EventBridge Scheduler cannot express, and rules that
 * never fire
 */
export function parseCron(text: string): CronFields {
  const other = otherForm(text.trim());
  if (other !== undefined) throw new RuleRefused(other);
  const fields = text.trim().split(/\s+/);
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = fields;
  if (fields.length !== 5 || minutes === "") {
    const given = minutes === "" ? 0 : fields.length;
    const advice = given > 5 ? ": write no seconds and no year" : "";
    throw new RuleRefused(`expected five fields (minute hour day-of-month month day-of-week), found ${given}${advice}`);
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
    const both = days.startsWith("*") || weekdays.startsWith("*");
    throw new RuleRefused(`day-of-month and day-of-week are both restricted: ${both ? bothMatch : eitherMatches}`);
  }
  if (!parsed.months.some((number) => (parsed.days[0] ?? 0) <= (monthDays[number - 1] ?? 0))) {
    throw new RuleRefused("the rule never fires: none of its months has such a day");
  }
  return { ...parsed, anyDay, anyWeekday };
}

const eitherMatches =
  "crontab means days that match either field, which EventBridge Scheduler does not support; create two schedules";
const bothMatch =
  "as one of them begins with *, crontab means days that match both fields, which EventBridge Scheduler does not support; " +
  "restrict one of them, and let the handler check the other";

/** Names of rules that some programs accept in place of the five fields. */
const named: Readonly<Record<string, string>> = {
  yearly: "0 0 1 1 *",
  annually: "0 0 1 1 *",
  monthly: "0 0 1 * *",
  weekly: "0 0 * * 0",
  daily: "0 0 * * *",
  midnight: "0 0 * * *",
  hourly: "0 * * * *",
  every_minute: "* * * * *",
};

/** Returns what to write in place of a rule that has the form of another program. */
function otherForm(text: string): string | undefined {
  const [first = ""] = text.split(/\s/);
  const name = first.startsWith("@") ? first.slice(1).toLowerCase() : undefined;
  if (name !== undefined && Object.hasOwn(named, name)) return `write "${named[name]}" in place of @${name}`;
  if (name === "reboot") return "@reboot is no time: expected five fields (minute hour day-of-month month day-of-week)";
  if (name !== undefined) return `@${name} is not part of crontab: write five fields, or every_seconds for an interval`;
  if (/^(CRON_)?TZ=/i.test(first)) return "the time zone is no part of the rule: write it in the field timezone";
  if (/^rate\(/i.test(text)) return "write an interval in the field every_seconds, in place of rate(...)";
  const [, inner] = /^cron\(\s*(.*?)\s*\)$/i.exec(text) ?? [];
  return inner === undefined ? undefined : awsForm(inner.split(/\s+/));
}

/** @param fields The fields of AWS's form: with a year, and weekdays that count from 1. */
function awsForm(fields: readonly string[]): string {
  const advice = "write five fields, as in crontab, without cron( ) and the year, and * in place of ?";
  const [minutes, hours, days, months, weekdays = "", year] = fields;
  if (fields.length !== 6 || year !== "*" || /[\d#L]/i.test(weekdays)) return advice;
  return `${advice}: "${[minutes, hours, days, months, weekdays].join(" ").replaceAll("?", "*")}"`;
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
  if (star !== undefined) return stepped(kind, item, kind.min, kind === weekday ? 6 : kind.max, stepText);
  const first = numberOf(kind, item, from);
  if (to !== undefined) return stepped(kind, item, first, numberOf(kind, item, to), stepText);
  if (stepText === undefined) return [first];
  throw new RuleRefused(`${kind.name}: expected * or a range before the step, such as ${from}-${kind.max}/${stepText}`);
}

function stepped(kind: FieldKind, item: string, first: number, last: number, stepText = "1"): number[] {
  const step = Number(stepText);
  const max = kind.max - kind.min + 1;
  if (first > last) {
    const written = step === 1 ? overTheEnd(kind, item, first, last) : stepsOverTheEnd(kind, first, last, step);
    const advice = written === undefined ? "" : `; write ${written}`;
    throw new RuleRefused(`${kind.name}: the range ${JSON.stringify(item)} ends before it starts${advice}`);
  }
  if (step < 1 || step > max) throw new RuleRefused(`${kind.name}: expected a step from 1 to ${max}, found ${step}`);
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

/** Writes a range that goes on at the field's start: `22-6` as `22-23,0-6`, and `FRI-MON` as `FRI-7,1`. */
function overTheEnd(kind: FieldKind, item: string, first: number, last: number): string {
  const [from = ""] = item.split("-");
  // Sunday is 7 at the end of the first range.
  const min = kind === weekday ? 1 : kind.min;
  const start = first === kind.max ? from : `${from}-${kind.max}`;
  if (last < min) return start;
  return `${start},${last === min ? min : `${min}-${last}`}`;
}

/**
 * Writes the values of a range with a step that goes on at the field's start: `22-6/2` as `22,0,2,4,6`. Undefined: the
 * step has no meaning, or would be refused.
 */
function stepsOverTheEnd(kind: FieldKind, first: number, last: number, step: number): string | undefined {
  // Sunday is 0 and 7.
  const size = kind === weekday ? 7 : kind.max - kind.min + 1;
  if (step < 1 || step > size) return undefined;
  const length = Math.floor((last + size - first) / step) + 1;
  const steps = Array.from({ length }, (_, index) => kind.min + ((first + index * step - kind.min) % size));
  return steps.join(",");
}

function numberOf(kind: FieldKind, item: string, text: string): number {
  const named = kind.names?.indexOf(text.toUpperCase()) ?? -1;
  const number = named >= 0 ? kind.min + named : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= kind.min && number <= kind.max) return number;
  throw notCron(kind, item);
}

function notCron({ name, min, max, names }: FieldKind, item: string): RuleRefused {
  const range = `${min} to ${max}${names === undefined ? "" : `, ${names[0]} to ${names.at(-1)}`}`;
  const isAws = /[?#]|^(\d+|[A-Z]{3})?[LW]+$/i.test(item);
  const hint = isAws ? `; L, W, # and ? are not part of crontab${item === "?" ? ": write * in place of ?" : ""}` : "";
  return new RuleRefused(
    `${name}: expected ${range}, or a list, range or step of these, found ${JSON.stringify(item)}${hint}`,
  );
}

/**
 * Writes the rule for EventBridge Scheduler: six fields, weekdays by name, as AWS counts them from 1, and `?` for the
 * kind of day without restriction. It is built from the values, in the forms that AWS documents. The longest rule has
 * two of every three values in each field: 238 characters, of 256 that AWS accepts.
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
function compact(numbers: readonly number[], { min, max }: FieldKind): string {
  const [first = 0, second = 0] = numbers;
  if (numbers.length === max - min + 1) return "*";
  const step = second - first;
  const regular = numbers.length > 2 && step > 1 && numbers.every((number, index) => number === first + index * step);
  if (regular && first + numbers.length * step > max) return `${first}/${step}`;
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
