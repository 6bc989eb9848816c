import { Temporal } from "temporal-polyfill";
import { describe, expect, test } from "vitest";
import { iso } from "../../../src/core/model/record.ts";
import { nextTime, nextTimes, type Rule, toExpression } from "../../../src/core/schedules/calendar.ts";
import { parseRule } from "../../../src/local/scheduler/schedule-rule.ts";
import fc from "../../support/fast-check.ts";

const created = "2027-01-01T00:00:00.000Z";

/** The next times of a rule, as ISO times without seconds. */
const times = (rule: Partial<Rule>, from: string, count = 3) =>
  nextTimes({ timezone: "UTC", ...rule }, created, Date.parse(from), count).map((time) =>
    iso(time).replace(":00.000Z", ""),
  );

describe("a rule by the calendar", () => {
  const berlin = { cron: "30 2 * * *", timezone: "Europe/Berlin" };

  test("a rule skips the time that clocks skip", () => {
    expect(times(berlin, "2027-03-26T12:00:00Z")).toEqual(["2027-03-27T01:30", "2027-03-29T00:30", "2027-03-30T00:30"]);
  });

  test("a rule runs once at the time that clocks show twice, the first time", () => {
    expect(times(berlin, "2027-10-29T12:00:00Z")).toEqual(["2027-10-30T00:30", "2027-10-31T00:30", "2027-11-01T01:30"]);
    expect(times({ ...berlin, cron: "*/30 * * * *" }, "2027-10-31T00:00:00Z")).toEqual([
      "2027-10-31T00:30",
      "2027-10-31T02:00",
      "2027-10-31T02:30",
    ]);
  });

  test("a rule knows leap years, and the century without one", () => {
    const leapDay = { cron: "0 0 29 2 *" };
    expect(times(leapDay, "2027-01-01T00:00:00Z", 2)).toEqual(["2028-02-29T00:00", "2032-02-29T00:00"]);
    expect(times(leapDay, "2096-03-01T00:00:00Z", 1)).toEqual(["2104-02-29T00:00"]);
  });

  test("the next time is after the given moment, never at it", () => {
    expect(times({ cron: "0 0 * * *" }, "2027-01-01T00:00:00Z", 1)).toEqual(["2027-01-02T00:00"]);
    expect(times({ cron: "0 0 * * *" }, "2026-12-31T23:59:59.999Z", 1)).toEqual(["2027-01-01T00:00"]);
  });

  test("a rule stays within its bounds, the first included, the last excluded", () => {
    const bounded = { cron: "0 * * * *", starts_at: "2027-01-01T02:00:00.000Z", ends_at: "2027-01-01T04:00:00.000Z" };
    expect(times(bounded, "2026-01-01T00:00:00Z", 9)).toEqual(["2027-01-01T02:00", "2027-01-01T03:00"]);
    expect(times(bounded, "2027-01-01T02:00:00Z", 9)).toEqual(["2027-01-01T03:00"]);
    expect(times(bounded, "2027-01-01T03:00:00Z", 9)).toEqual([]);
    expect(nextTime({ timezone: "UTC", ...bounded }, created, Date.parse("2028-01-01"))).toBeUndefined();
  });

  test("the given number of times is returned", () => {
    expect(times({ cron: "* * * * *" }, created, 0)).toEqual([]);
    expect(times({ cron: "* * * * *" }, created, 100)).toHaveLength(100);
  });
});

describe("a rate", () => {
  test("a rate's first time is the last full minute within one interval after its creation", () => {
    const from = (at: string, every_seconds: number) =>
      nextTime({ timezone: "UTC", every_seconds }, at, Date.parse(at));
    expect(from("2027-01-01T00:00:00.000Z", 60)).toBe("2027-01-01T00:01:00.000Z");
    expect(from("2027-01-01T00:00:59.999Z", 60)).toBe("2027-01-01T00:01:00.000Z");
    expect(from("2027-01-01T18:59:49.000Z", 3600)).toBe("2027-01-01T19:59:00.000Z");
    expect(from("2027-01-01T18:59:49.000Z", 31_536_000)).toBe("2028-01-01T18:59:00.000Z");
  });

  test("a rate counts from its creation, however late it is looked at", () => {
    const later = "2027-01-01T02:30:00Z";
    expect(times({ every_seconds: 3600 }, later, 2)).toEqual(["2027-01-01T03:00", "2027-01-01T04:00"]);
    expect(times({ every_seconds: 5400 }, later, 2)).toEqual(["2027-01-01T03:00", "2027-01-01T04:30"]);
  });

  test("a rate counts from the first full minute at its start", () => {
    const from = (starts_at: string) => times({ every_seconds: 120, starts_at }, "2027-02-01T00:00:00Z", 1);
    expect(from("2027-03-01T00:00:00.000Z")).toEqual(["2027-03-01T00:00"]);
    expect(from("2027-03-01T00:00:00.001Z")).toEqual(["2027-03-01T00:01"]);
    expect(from("2027-01-01T00:01:00.000Z")).toEqual(["2027-02-01T00:01"]);
  });

  test("a rate ends before its end", () => {
    const ends_at = "2027-01-01T00:03:00.000Z";
    expect(times({ every_seconds: 60, ends_at }, created, 9)).toEqual(["2027-01-01T00:01", "2027-01-01T00:02"]);
  });

  test.each([
    [60, "rate(1 minute)"],
    [120, "rate(2 minutes)"],
    [31_536_000, "rate(525600 minutes)"],
  ])("a rate of %i s is %s", (every_seconds, expression) => {
    expect(toExpression({ every_seconds, timezone: "UTC" })).toBe(expression);
  });
});

/** One field of a rule: its text, and the values that are meant by whoever wrote it. */
interface Field {
  text: string;
  values: readonly number[];
}

const range = (first: number, last: number, step = 1): number[] =>
  Array.from({ length: Math.max(0, Math.floor((last - first) / step) + 1) }, (_, index) => first + index * step);

/** Any field of numbers: a star, a step, a range with or without one, a list. */
function field(least: number, most: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min: least, max: most });
  const step = fc.integer({ min: 1, max: most - least + 1 });
  const span = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const item: fc.Arbitrary<Field> = fc.oneof(
    value.map((number) => ({ text: `${number}`, values: [number] })),
    span.map(([first, last]) => ({ text: `${first}-${last}`, values: range(first, last) })),
    fc
      .tuple(span, step)
      .map(([[first, last], by]) => ({ text: `${first}-${last}/${by}`, values: range(first, last, by) })),
  );
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({ text: "*", values: range(least, most) }) },
    { weight: 2, arbitrary: step.map((by) => ({ text: `*/${by}`, values: range(least, most, by) })) },
    {
      weight: 4,
      arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => ({
        text: items.map(({ text }) => text).join(","),
        values: items.flatMap(({ values }) => values),
      })),
    },
  );
}

const anyDay: Field = { text: "*", values: range(1, 31) };
const anyWeekday: Field = { text: "*", values: range(0, 6) };

/** Both kinds of day, at most one of them restricted. */
const days = fc.oneof(
  field(1, 31).map((day) => ({ day, weekday: anyWeekday })),
  field(0, 6).map((weekday) => ({ day: anyDay, weekday })),
);

const zone = fc.constantFrom(
  "UTC",
  "Europe/Berlin",
  "Africa/Cairo",
  "America/New_York",
  "America/St_Johns",
  "America/Santiago",
  "Asia/Beirut",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
);

interface Case {
  minute: Field;
  hour: Field;
  days: { day: Field; weekday: Field };
  month: Field;
  zone: string;
  /** In minutes since 1970. */
  from: number;
}

const cases: fc.Arbitrary<Case> = fc.record({
  minute: field(0, 59),
  hour: field(0, 23),
  days,
  month: field(1, 12),
  zone,
  from: fc.integer({ min: Date.UTC(2024, 0, 1) / 60_000, max: Date.UTC(2045, 0, 1) / 60_000 }),
});

const cronOf = ({ minute, hour, days: { day, weekday }, month }: Case) =>
  [minute, hour, day, month, weekday].map(({ text }) => text).join(" ");

/** How far the walk through the calendar goes. */
const walkedDays = 400;

/** The next times by Temporal, which knows nothing of cron: every day's matching times, unless clocks skip them. */
function* walk({ minute, hour, days: { day, weekday }, month, zone: timeZone, from }: Case): Generator<number> {
  const hours = [...new Set(hour.values)].sort((a, b) => a - b);
  const minutes = [...new Set(minute.values)].sort((a, b) => a - b);
  let date = Temporal.Instant.fromEpochMilliseconds(from * 60_000)
    .toZonedDateTimeISO(timeZone)
    .toPlainDate();
  for (let walked = 0; walked < walkedDays; walked++, date = date.add({ days: 1 })) {
    if (!month.values.includes(date.month) || !day.values.includes(date.day)) continue;
    if (!weekday.values.includes(date.dayOfWeek % 7)) continue;
    for (const time of hours.flatMap((hour) => minutes.map((minute) => ({ hour, minute })))) {
      const wall = date.toPlainDateTime(time);
      const instant = wall.toZonedDateTime(timeZone, { disambiguation: "earlier" });
      if (instant.toPlainDateTime().equals(wall)) yield instant.epochMilliseconds;
    }
  }
}

function expectedTimes(one: Case, most: number): number[] {
  const found: number[] = [];
  for (const time of walk(one)) {
    if (time > one.from * 60_000) found.push(time);
    if (found.length === most) break;
  }
  return found;
}

describe("for any rule, zone and year", () => {
  test("the next times are those of an independent calendar", () => {
    fc.assert(
      fc.property(cases, (one) => {
        const rule = { cron: cronOf(one), timezone: one.zone };
        const expected = expectedTimes(one, 5);
        // What comes later than the walk goes is left to the tests above.
        const next = expected.length === 0 ? [] : nextTimes(rule, created, one.from * 60_000, expected.length);
        expect(next.map(iso)).toEqual(expected.map(iso));
      }),
      { numRuns: 300 },
    );
  });

  test("the translated rule fires at the same times", () => {
    fc.assert(
      fc.property(cases, (one) => {
        const rule = { cron: cronOf(one), timezone: one.zone };
        if (expectedTimes(one, 1).length === 0) return;
        const after = one.from * 60_000;
        expect(toExpression(rule).length).toBeLessThanOrEqual(238);
        const aws = parseRule(toExpression(rule), one.zone, after);
        const fired: number[] = [];
        for (let time = aws.next(after); time !== undefined && fired.length < 5; time = aws.next(time))
          fired.push(time);
        expect(fired.map(iso)).toEqual(nextTimes(rule, created, after, 5).map(iso));
      }),
      { numRuns: 200 },
    );
  });
});
