import { expect, test } from "vitest";
import { retryAfterSeconds } from "../../src/webhooks/retry-after.ts";
import fc from "../support/fast-check.ts";

const now = Date.UTC(2027, 0, 1, 12);

test.each([
  ["0", 0],
  ["120", 120],
  ["86401", 86_400],
  ["999999999999999", 86_400],
  ["Fri, 01 Jan 2027 12:00:30 GMT", 30],
  ["Friday, 01-Jan-27 12:01:00 GMT", 60],
  ["Fri Jan  1 12:00:10 2027", 10],
  ["Fri, 01 Jan 2027 11:00:00 GMT", 0],
  ["Wed, 01 Jan 2031 11:00:00 GMT", 86_400],
  ["", undefined],
  ["-1", undefined],
  ["1.5", undefined],
  ["1e3", undefined],
  ["soon", undefined],
  ["2027-01-01", undefined],
  ["1".repeat(400), undefined],
  ["Xyz, 99 Abc 2027 99:99:99 GMT", undefined],
  [undefined, undefined],
])("Retry-After %j is %j seconds", (header, seconds) => {
  expect(retryAfterSeconds(header, now)).toBe(seconds);
});

test("any header gives a whole number of seconds up to a day, or nothing", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      ),
      (header) => {
        const seconds = retryAfterSeconds(header, now) ?? 0;
        expect(Number.isInteger(seconds) && seconds >= 0 && seconds <= 86_400).toBe(true);
      },
    ),
  );
});
