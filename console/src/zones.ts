import { offsetAt, toInstant, toWallTime } from "../../src/util/time-zone.ts";

export const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;

/** The zone of the reader's computer. */
export const readerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([zone, options]);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone });
  formats.set(key, known);
  return known;
}

const dayFormat = { weekday: "short", year: "numeric", month: "short", day: "numeric" } as const;

/** The day in a zone: `Sun, Mar 28, 2027`. */
export const dayIn = (ms: number, zone: string): string => formatOf(zone, dayFormat).format(ms);

/** The clock in a zone: `02:30`. */
export const clockIn = (ms: number, zone: string): string => clockOf(toWallTime(ms, zone));

/** The clock of a local time, which is written as if it were UTC. */
const clockOf = (wallMs: number): string => new Date(wallMs).toISOString().slice(11, 16);

/** Day and clock in a zone: `Sun, Mar 28, 2027, 02:30`. */
export const timeIn = (ms: number, zone: string): string => `${dayIn(ms, zone)}, ${clockIn(ms, zone)}`;

/** The zone's distance from UTC at a time: `UTC+02:00`. */
export function offsetText(ms: number, zone: string): string {
  const minutes = Math.round(offsetAt(ms, zone) / minuteMs);
  const clock = new Date(Math.abs(minutes) * minuteMs).toISOString().slice(11, 16);
  return `UTC${minutes < 0 ? "−" : "+"}${clock}`;
}

/** True when the clocks of both zones show the same at a time. */
export const isSameTime = (ms: number, one: string, other: string): boolean =>
  one === other || offsetAt(ms, one) === offsetAt(ms, other);

/** A change of a zone's clocks. */
export interface ClockChange {
  /** The instant of the change. */
  atMs: number;
  /** Milliseconds by which the clocks go forward. Below 0: back. */
  byMs: number;
  /** Local times as if they were UTC: those from `fromWallMs` to before `toWallMs` do not exist, or come twice. */
  fromWallMs: number;
  toWallMs: number;
}

/** Changes are looked for over this time at most: a rule of each leap day has times for a century. */
const mostMs = 800 * dayMs;

/** Changes of a zone's clocks after one time and until another, at most `most`. */
export function clockChanges(zone: string, afterMs: number, untilMs: number, most = 6): ClockChange[] {
  const found: ClockChange[] = [];
  const lastMs = Math.min(untilMs, afterMs + mostMs);
  for (let ms = afterMs; ms < lastMs && found.length < most; ms += dayMs) {
    const end = Math.min(ms + dayMs, lastMs);
    if (offsetAt(ms, zone) !== offsetAt(end, zone)) found.push(changeWithin(zone, ms, end));
  }
  return found;
}

/** The change between two times at which the offsets differ, to the minute. */
function changeWithin(zone: string, fromMs: number, toMs: number): ClockChange {
  const before = offsetAt(fromMs, zone);
  let early = Math.floor(fromMs / minuteMs);
  let late = Math.ceil(toMs / minuteMs);
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (offsetAt(middle * minuteMs, zone) === before) early = middle;
    else late = middle;
  }
  const atMs = late * minuteMs;
  const walls = [atMs + before, atMs + offsetAt(atMs, zone)];
  return {
    ...{ atMs, byMs: offsetAt(atMs, zone) - before },
    ...{ fromWallMs: Math.min(...walls), toWallMs: Math.max(...walls) },
  };
}

/** The clocks before and after a change: `clocks go forward from 02:00 to 03:00`. */
export function changeText({ byMs, fromWallMs, toWallMs }: ClockChange): string {
  const [from, to] = [clockOf(fromWallMs), clockOf(toWallMs)];
  return byMs > 0 ? `clocks go forward from ${from} to ${to}` : `clocks go back from ${to} to ${from}`;
}

/**
 * A local time, as an input of the browser has it, as an instant. Undefined: no such text, or the zone's clocks skip
 * it.
 */
export function instantOf(text: string, zone: string): number | undefined {
  const wall = Date.parse(`${text}Z`);
  return Number.isNaN(wall) ? undefined : toInstant(wall, zone);
}

/** An instant as the input of a local time wants it. */
export const localText = (iso: string, zone: string): string =>
  new Date(toWallTime(Date.parse(iso), zone)).toISOString().slice(0, 16);

/** The first instant of a day in a zone. Where a clock change skips midnight, the day begins with the change. */
export function dayStart(year: number, month: number, day: number, zone: string): number {
  const wall = Date.UTC(year, month - 1, day);
  const exact = toInstant(wall, zone);
  if (exact !== undefined) return exact;
  const [change] = clockChanges(zone, wall - dayMs - offsetAt(wall, zone), wall + dayMs - offsetAt(wall, zone), 1);
  return change?.atMs ?? wall - offsetAt(wall, zone);
}

/** Year, month (1 to 12) and day in a zone. */
export function dateIn(ms: number, zone: string): [year: number, month: number, day: number] {
  const wall = new Date(toWallTime(ms, zone));
  return [wall.getUTCFullYear(), wall.getUTCMonth() + 1, wall.getUTCDate()];
}

/** Names of all zones, for a choice. */
export const zoneNames = (): string[] => [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];
