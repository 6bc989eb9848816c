/**
 * The first millisecond of the year 1970, and of the year 2200: EventBridge Scheduler has no times before and after.
 */
const firstMs = 0;
export const lastScheduledMs = Date.UTC(2200, 0, 1);

/** True for a time at which something can be scheduled: in the years 1970 to 2199. */
export const isSchedulable = (ms: number): boolean => ms >= firstMs && ms < lastScheduledMs;

const expected = "expected an ISO 8601 time with its zone, such as 2027-04-07T10:02:14Z";

/** A time as RFC 3339 has it; seconds may be left out, as in ISO 8601. */
const form = /^(\d{4})-(\d\d)-(\d\d)[t ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?(z|([+-])(\d\d):(\d\d))$/i;

/** Returns the epoch milliseconds of a time's text, or why it is refused. */
export function parseTime(text: string): number | string {
  const found = form.exec(text);
  if (found === null) return refusalOf(text);
  const [, year, month, day, hour, minute, second = "0", fraction = "", , sign, hours = "0", minutes = "0"] = found;
  if (Number(second) === 60) return "leap seconds are not supported: expected seconds from 00 to 59";
  const inRange = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  if (!inRange || Number(hours) > 23 || Number(minutes) > 59) return expected;
  const midnight = new Date(0);
  midnight.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) {
    return `the calendar has no day ${year}-${month}-${day}`;
  }
  const ms = Number(fraction.padEnd(3, "0").slice(0, 3));
  const sinceMidnight = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + ms;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === "-" ? -1 : 1);
  return midnight.getTime() + sinceMidnight - offset;
}

function refusalOf(text: string): string {
  if (/[t ]\d\d:\d\d\S* \d\d:?\d\d$/i.test(text)) {
    return "expected an ISO 8601 time with its zone; write + as %2B in a query, where + is a space";
  }
  if (/[t ]\d\d:\d\d\S*[+-]\d\d(\d\d)?$/i.test(text)) {
    return "expected the zone with hours and minutes, such as +00:00, or Z";
  }
  return expected;
}
