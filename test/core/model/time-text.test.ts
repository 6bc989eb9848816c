import { expect, test } from "vitest";
import { parseTime } from "../../../src/util/time-text.ts";
import fc from "../../support/fast-check.ts";

test.each([
  ["2027-04-07T10:02:14.120Z", "2027-04-07T10:02:14.120Z"],
  ["2027-04-07T10:02Z", "2027-04-07T10:02:00.000Z"],
  ["2027-04-07t10:02:14z", "2027-04-07T10:02:14.000Z"],
  ["2027-04-07 10:02:14+00:00", "2027-04-07T10:02:14.000Z"],
  ["2027-04-07T10:02:14.123456789+05:30", "2027-04-07T04:32:14.123Z"],
  ["2024-02-29T23:59:59-23:59", "2024-03-01T23:58:59.000Z"],
])("%s is a time", (text, iso) => {
  expect(parseTime(text)).toBe(Date.parse(iso));
});

test.each([
  ["2016-12-31T23:59:60Z", "leap seconds"],
  ["2027-04-07T10:02:14+00", "hours and minutes"],
  ["2027-04-07T10:02:14+0000", "hours and minutes"],
  ["2027-04-07T10:02:14 02:00", "%2B"],
  ["2027-02-30T00:00:00Z", "no day 2027-02-30"],
  ["2027-04-07T24:00:00Z", "ISO 8601"],
  ["2027-04-07T10:02:14", "zone"],
  ["2027-04-07", "zone"],
  ["+010000-01-01T00:00:00Z", "ISO 8601"],
  ["now", "ISO 8601"],
])("%s is refused: %s", (text, words) => {
  expect(parseTime(text)).toContain(words);
});

test("any time comes back as it was written", () => {
  const dates = fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true });
  fc.assert(
    fc.property(dates, (date) => {
      expect(parseTime(date.toISOString())).toBe(date.getTime());
    }),
  );
});
