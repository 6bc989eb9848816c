import { expect, test } from "vitest";
import { hoursOf } from "../../console/src/pages/overview-hours.ts";

test("the last hour and the one before it are counted by the periods that begin in them", () => {
  const end = Date.parse("2027-03-23T14:00:00Z") / 1_000;
  const minutesAgo = [123, 117, 63, 57, 3];
  const periods = {
    times: minutesAgo.map((ago) => end - ago * 60),
    completed: [100, 5, 7, 11, 13],
    failed: [null, 1, null, null, 2],
  };
  expect(hoursOf(periods, end)).toEqual({ last: { ended: 26, failed: 2 }, before: { ended: 13, failed: 1 } });
});
