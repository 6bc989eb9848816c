import { Temporal } from "temporal-polyfill";
import { describe, expect, test } from "vitest";
import { isTimeZone, toInstant, toWallTime } from "../../../src/util/time-zone.ts";
import fc from "../../support/fast-check.ts";

/** Zones whose clocks change in every way there is: by half an hour, at midnight, to the other day, never. */
const zones = [
  "UTC",
  "Europe/Berlin",
  "Europe/Dublin",
  "Africa/Casablanca",
  "Africa/Cairo",
  "America/New_York",
  "America/St_Johns",
  "America/Santiago",
  "America/Havana",
  "Asia/Kolkata",
  "Asia/Tehran",
  "Asia/Beirut",
  "Asia/Gaza",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Chatham",
  "Antarctica/Troll",
];

const minutes = fc.integer({ min: Date.UTC(2005, 0, 1) / 60_000, max: Date.UTC(2060, 0, 1) / 60_000 });

describe("the name of a time zone", () => {
  test.each([
    "Singapore",
    "Japan",
    "NZ",
    "EST",
    "Asia/Kolkata",
    "US/Eastern",
    "Etc/Zulu",
    "GMT",
    "America/Argentina/Ushuaia",
  ])("%s is one of IANA's", (name) => expect(isTimeZone(name)).toBe(true));

  test.each(["singapore", "US/EASTERN", "Etc/ZULU", "JAPAN", "est", "nz", "Factory", "SystemV/EST5"])(
    "%s is none, or in the wrong case",
    (name) => expect(isTimeZone(name)).toBe(false),
  );

  test.each([...zones, "GMT", "Etc/GMT+5", "US/Pacific", "America/Argentina/Buenos_Aires", "America/Port-au-Prince"])(
    "%s is a name of IANA",
    (name) => expect(isTimeZone(name)).toBe(true),
  );

  test.each(["", "Mars/Olympus", "europe/berlin", "Europe/BERLIN", "utc", "PST", "CEST", "+02:00", "UTC+2", "Europe"])(
    "%j is not a name of IANA",
    (name) => expect(isTimeZone(name)).toBe(false),
  );
});

test("the local time of a moment is that of another calendar", () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), minutes, (zone, minute) => {
      const shown = Temporal.Instant.fromEpochMilliseconds(minute * 60_000)
        .toZonedDateTimeISO(zone)
        .toPlainDateTime();
      const expected = shown.toZonedDateTime("UTC").epochMilliseconds;
      expect(toWallTime(minute * 60_000, zone)).toBe(expected);
    }),
    { numRuns: 500 },
  );
});

test("the moment of a local time is that of another calendar: the first one, or none", () => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), minutes, (zone, minute) => {
      const wall = Temporal.Instant.fromEpochMilliseconds(minute * 60_000)
        .toZonedDateTimeISO("UTC")
        .toPlainDateTime();
      const first = wall.toZonedDateTime(zone, { disambiguation: "earlier" });
      const expected = first.toPlainDateTime().equals(wall) ? first.epochMilliseconds : undefined;
      expect(toInstant(minute * 60_000, zone)).toBe(expected);
    }),
    { numRuns: 500 },
  );
});
