import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import { type CronFields, parseCron } from "../../../src/core/schedules/cron.ts";
import { offsetAt, toInstant } from "../../../src/util/time-zone.ts";
import { type ClockChange, clockChanges, dateIn, dayMs, dayStart } from "../zones.ts";

/** Days of the calendar. */
export const daysShown = 7;

/** A schedule with more times on a day is a number below the calendar. */
const mostOfDay = 4;

/** A time of a schedule. */
export interface Slot {
  ms: number;
  schedule: ScheduleView;
  /** Its time in its own zone, which does not exist on that day: nothing is submitted. Absent: it exists. */
  skipped?: string;
}

export interface WeekDay {
  startMs: number;
  endMs: number;
  slots: Slot[];
  changes: ClockChange[];
}

/** A schedule that runs often. */
export interface Often {
  schedule: ScheduleView;
  /** Number of its times in the whole week. */
  times: number;
}

export interface Week {
  days: WeekDay[];
  often: Often[];
}

/** The times of all schedules from now on, by the days of a zone. @param zone That of the reader, or UTC */
export function weekOf(schedules: readonly ScheduleView[], nowMs: number, zone: string, byDays = 0): Week {
  const [year, month, day] = dateIn(nowMs, zone);
  const starts = Array.from({ length: daysShown + 1 }, (_, index) => dayStart(year, month, day + byDays + index, zone));
  const [firstMs = nowMs, lastMs = nowMs] = [starts[0], starts.at(-1)];
  const fromMs = Math.max(firstMs, nowMs);
  const all = schedules.map((schedule) => ({ schedule, ...timesOf(schedule, fromMs, lastMs) }));
  const often = all.filter(({ times, slots }) => slots === undefined && times > 0);
  const slots = all.flatMap((one) => one.slots ?? []).sort((a, b) => a.ms - b.ms);
  const changes = clockChanges(zone, firstMs, lastMs);
  const days = starts.slice(0, -1).map((startMs, index): WeekDay => {
    const endMs = starts[index + 1] ?? lastMs;
    const isOf = (ms: number) => ms >= startMs && ms < endMs;
    return {
      ...{ startMs, endMs },
      slots: slots.filter(({ ms }) => isOf(ms)),
      changes: changes.filter(({ atMs }) => isOf(atMs)),
    };
  });
  return { days, often: often.map(({ schedule, times }) => ({ schedule, times })) };
}

/** Times within a span, or only their number where they are many. */
interface Times {
  times: number;
  slots: Slot[] | undefined;
}

function timesOf(schedule: ScheduleView, fromMs: number, toMs: number): Times {
  const { starts_at, ends_at, cron, every_seconds } = schedule;
  const from = Math.max(fromMs, Date.parse(starts_at ?? "") || 0);
  const to = Math.min(toMs, Date.parse(ends_at ?? "") || toMs);
  if (to <= from) return { times: 0, slots: [] };
  if (cron !== null) return cronTimes(schedule, cron, from, to);
  return every_seconds === null ? { times: 0, slots: [] } : intervalTimes(schedule, every_seconds * 1_000, from, to);
}

/**
 * The times of an interval, from its next one. An interval of the code has no next time before its first firing: only
 * its number is known.
 */
function intervalTimes(schedule: ScheduleView, everyMs: number, fromMs: number, toMs: number): Times {
  const next = Date.parse(schedule.next_run_at ?? "");
  const times = Math.max(0, Math.floor((toMs - Math.max(fromMs, next || fromMs)) / everyMs));
  if (Number.isNaN(next) || dayMs / everyMs > mostOfDay) return { times, slots: undefined };
  const slots: Slot[] = [];
  const first = next + Math.max(0, Math.ceil((fromMs - next) / everyMs)) * everyMs;
  for (let ms = first; ms < toMs; ms += everyMs) slots.push({ ms, schedule });
  return { times: slots.length, slots };
}

function cronTimes(schedule: ScheduleView, cron: string, fromMs: number, toMs: number): Times {
  let fields: CronFields;
  try {
    fields = parseCron(cron);
  } catch {
    // A rule of a later release.
    return { times: 0, slots: [] };
  }
  const slots = daysWithin(fields, schedule.timezone, fromMs, toMs).flatMap(([year, month, day]) =>
    fields.hours.flatMap((hour) =>
      fields.minutes.map((minute) => slotAt(schedule, Date.UTC(year, month - 1, day, hour, minute))),
    ),
  );
  const found = slots.filter(({ ms }) => ms > fromMs && ms < toMs);
  const isMany = fields.hours.length * fields.minutes.length > mostOfDay;
  return { times: found.filter(({ skipped }) => skipped === undefined).length, slots: isMany ? undefined : found };
}

/** Days of the schedule's zone on which a rule has times. */
function daysWithin(fields: CronFields, zone: string, fromMs: number, toMs: number): [number, number, number][] {
  const [year, month, day] = dateIn(fromMs, zone);
  const count = Math.ceil((toMs - fromMs) / dayMs) + 2;
  return Array.from({ length: count }, (_, index) => new Date(Date.UTC(year, month - 1, day + index)))
    .filter(
      (date) =>
        fields.days.includes(date.getUTCDate()) &&
        fields.weekdays.includes(date.getUTCDay()) &&
        fields.months.includes(date.getUTCMonth() + 1),
    )
    .map((date) => [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()]);
}

/**
 * The instant of a local time, which is written as if it were UTC. A time that the clocks skip stands where it would
 * have been.
 */
function slotAt(schedule: ScheduleView, wallMs: number): Slot {
  const { timezone: zone } = schedule;
  const ms = toInstant(wallMs, zone);
  if (ms !== undefined) return { ms, schedule };
  const before = offsetAt(wallMs - offsetAt(wallMs, zone) - dayMs / 2, zone);
  return { ms: wallMs - before, schedule, skipped: new Date(wallMs).toISOString().slice(11, 16) };
}
