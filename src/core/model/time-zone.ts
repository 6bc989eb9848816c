import { otherZoneNames } from "./time-zone-names.ts";

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Returns the local time in a zone at an instant, as epoch milliseconds as if that local time were UTC. Whole seconds
 * only.
 * @throws RangeError for a zone that does not exist.
 */
export function toWallTime(instant: number, zone: string): number {
  const field = Object.fromEntries(
    formatOf(zone)
      .formatToParts(instant)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns the first instant with this local time in the zone. Undefined: a clock change skips it. */
export function toInstant(wallTime: number, zone: string): number | undefined {
  const offsets = [-1, 1].map((days) => offsetAt(wallTime + days * 86_400_000, zone));
  const instants = offsets.map((offset) => wallTime - offset).sort((a, b) => a - b);
  return instants.find((instant) => toWallTime(instant, zone) === wallTime);
}

/** Returns the milliseconds by which the zone is ahead of UTC. */
export function offsetAt(instant: number, zone: string): number {
  return toWallTime(instant, zone) - Math.floor(instant / 1000) * 1000;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  formats.set(zone, format);
  return format;
}

let names: ReadonlySet<string> | undefined;

/**
 * True for the IANA name of a zone, in IANA's spelling, as AWS distinguishes case. False for offsets, and for
 * abbreviations that are no such name.
 */
export function isTimeZone(name: string): boolean {
  names ??= new Set([...Intl.supportedValuesOf("timeZone"), ...otherZoneNames.trim().split(/\s+/)]);
  if (!names.has(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    // This program's zones are older than the list.
    return false;
  }
}
