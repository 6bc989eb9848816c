import { describe, expect, test } from "vitest";
import { type Week, weekOf } from "../../console/src/pages/schedules-week-times.ts";
import type { ScheduleView } from "../../src/client/schedule-calls.ts";

const berlin = "Europe/Berlin";

const schedule = (name: string, more: Partial<ScheduleView>) =>
  ({
    ...{ schedule_id: name, name, source: "api", cron: null, every_seconds: null, timezone: berlin, enabled: true },
    ...{ starts_at: null, ends_at: null, next_run_at: null, ...more },
  }) as ScheduleView;

/** Tuesday, 23 March 2027, 14:20 in Berlin. The clocks go forward on the Sunday after it. */
const now = Date.parse("2027-03-23T13:20:00Z");

/** The days as a reader sees them: the clock in a zone, the name, and what is skipped. */
const shown = ({ days }: Week, zone = berlin) =>
  days.map(({ slots }) =>
    slots.map(({ ms, schedule: { name }, skipped }) => {
      const clock = new Date(ms).toLocaleTimeString("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
      return skipped === undefined ? `${clock} ${name}` : `${skipped} ${name} skipped`;
    }),
  );

describe("the next seven days of schedules", () => {
  test("a time that the clocks skip is in its place, and submits nothing; the day has 23 hours", () => {
    const week = weekOf(
      [schedule("report", { cron: "30 2 * * *" }), schedule("early", { cron: "0 1 * * *" })],
      now,
      berlin,
    );
    const usual = ["01:00 early", "02:30 report"];
    expect(shown(week)).toEqual([[], usual, usual, usual, usual, ["01:00 early", "02:30 report skipped"], usual]);
    const sunday = week.days[5];
    expect(((sunday?.endMs ?? 0) - (sunday?.startMs ?? 0)) / 3_600_000).toBe(23);
    expect(sunday?.changes).toMatchObject([{ byMs: 3_600_000 }]);
    const [before, skipped] = sunday?.slots ?? [];
    expect((before?.ms ?? 0) < (sunday?.changes[0]?.atMs ?? 0)).toBe(true);
    expect(skipped?.ms).toBeGreaterThanOrEqual(sunday?.changes[0]?.atMs ?? 0);
  });

  test("a time that the clocks repeat is there once", () => {
    const week = weekOf([schedule("report", { cron: "30 2 * * *" })], Date.parse("2027-10-30T12:00:00Z"), berlin);
    expect(shown(week)[1]).toEqual(["02:30 report"]);
  });

  test("days are those of the reader; a zone of the schedule's own keeps its clock", () => {
    const week = weekOf([schedule("late", { cron: "30 23 * * 1-5", timezone: "America/New_York" })], now, "UTC");
    // New York is 4 hours behind UTC then.
    expect(shown(week, "UTC")).toEqual([[], ...Array(4).fill(["03:30 late"]), [], []]);
  });

  test("an interval of hours is in the days, one of minutes is a number; bounds count", () => {
    const next_run_at = "2027-03-23T18:00:00.000Z";
    const half = schedule("half", { every_seconds: 43_200, next_run_at, ends_at: "2027-03-24T12:00:00.000Z" });
    const often = schedule("often", { every_seconds: 300, next_run_at: "2027-03-23T13:25:00.000Z" });
    const hourly = schedule("hourly", { cron: "0 * * * *", starts_at: "2027-03-29T00:00:00.000Z" });
    const week = weekOf([half, often, hourly], now, "UTC");
    expect(shown(week, "UTC").slice(0, 3)).toEqual([["18:00 half"], ["06:00 half"], []]);
    expect(week.often.map(({ schedule: { name }, times }) => [name, times])).toEqual([
      ["often", 1_855],
      ["hourly", 23],
    ]);
  });

  test("a rate of the code without a known time is a number, and a rule that cannot be read is nothing", () => {
    const week = weekOf(
      [schedule("rate", { source: "code", every_seconds: 86_400 }), schedule("odd", { cron: "?" })],
      now,
      "UTC",
    );
    expect(week.often.map(({ schedule: { name } }) => name)).toEqual(["rate"]);
    expect(shown(week).flat()).toEqual([]);
  });
});
