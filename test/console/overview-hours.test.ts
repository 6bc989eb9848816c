import { expect, test } from "vitest";
import { hoursOf } from "../../console/src/pages/overview-data.ts";

const from = Date.parse("2027-03-23T11:00:00Z") / 1_000;
const series = (name: "completed" | "failed", tier: string, points: [number, number][]) => ({
  ...{ name, statistic: "sum" as const, tier },
  points: points.map(([minute, value]): [number, number] => [from + minute * 60, value]),
});

test("the last hour and the one before it are counted by the periods that begin in them", () => {
  const metrics = {
    from: "2027-03-23T11:00:00.000Z",
    to: "2027-03-23T14:00:00.000Z",
    period_seconds: 180,
    series: [
      series("completed", "normal", [
        [57, 100],
        [63, 5],
        [117, 7],
        [123, 11],
        [177, 13],
      ]),
      series("failed", "normal", [[63, 1]]),
      series("failed", "low", [[177, 2]]),
    ],
  } as unknown as Parameters<typeof hoursOf>[0];
  expect(hoursOf(metrics, undefined)).toEqual({ last: { ended: 26, failed: 2 }, before: { ended: 13, failed: 1 } });
  expect(hoursOf(metrics, "normal").last).toEqual({ ended: 24, failed: 0 });
});
