const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * What clocks in the zone show at an instant, as if that were UTC. Both in epoch milliseconds; whole seconds only.
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

/** The first instant at which clocks in the zone show that time. Undefined: they skip it. */
export function toInstant(wallTime: number, zone: string): number | undefined {
  const offsets = [-1, 1].map((days) => offsetAt(wallTime + days * 86_400_000, zone));
  const instants = offsets.map((offset) => wallTime - offset).sort((a, b) => a - b);
  return instants.find((instant) => toWallTime(instant, zone) === wallTime);
}

/** Milliseconds that the zone is ahead of UTC. */
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

/** IANA's names without a region that are not also somebody's abbreviation for something else. */
const plainNames = new Set(["UTC", "GMT", "CET", "EET", "MET", "WET", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT"]);

/** Whether a text is the IANA name of a zone, in IANA's spelling: offsets and abbreviations are none. */
export function isTimeZone(name: string): boolean {
  if (!plainNames.has(name) && !/^[A-Z][\w+-]*(\/[A-Z0-9][\w+-]*)+$/.test(name)) return false;
  if (name.startsWith("SystemV/")) return false;
  try {
    const known = formatOf(name).resolvedOptions().timeZone;
    // Another name of the same zone is fine; the same name in other letters is not, as AWS tells them apart.
    return known === name || known.toLowerCase() !== name.toLowerCase();
  } catch {
    return false;
  }
}
